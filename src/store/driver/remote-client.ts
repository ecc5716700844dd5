/** The client for a remote database: the driver's client, with queries and commits on persistent streams. */
import { type Client, type Config, createClient, type InStatement } from '@libsql/client'
import { parseLibsqlUrl } from '@libsql/hrana-client'
import { GridError } from '../../errors.ts'
import { isConnectionLoss } from './database-errors.ts'
import { FileClient } from './file-client.ts'
import { localPath } from './local-file.ts'
import { plain } from './prepared-statement.ts'
import { openPost, type Post, RemoteStream } from './remote-stream.ts'
import { RemoteQueries, type Send } from './remote-queries.ts'

/** Maximum number of concurrent query requests. The server opens a stream for each. */
const queryStreams = 3

/** `post` sends requests. The default is meant for commands that move a whole database. */
type RemoteSettings = Config & { post?: Post }

/** Over a WebSocket (`ws://`), the driver's own client is used. */
export function connectRemote({ post = openPost({ ms: 120_000 }), ...settings }: RemoteSettings): Client {
  const driver = createClient(settings)
  const { hranaHttpUrl, authToken = settings.authToken } = parseLibsqlUrl(settings.url)
  if (hranaHttpUrl === undefined) return driver

  const [forCommits, ...forQueries] = Array.from({ length: 1 + queryStreams }, () => {
    return new RemoteStream(hranaHttpUrl, authToken, post)
  })
  const queries = new RemoteQueries(...forQueries.map((stream): Send => (statements) => stream.query(statements)))
  const close = driver.close.bind(driver)
  return Object.assign(driver, {
    execute: (statement: InStatement) => queries.execute(plain(statement)),
    batch: (statements: InStatement[]) => forCommits.commit(statements.map(plain)),
    close() {
      for (const stream of [forCommits, ...forQueries]) stream.close()
      close()
    },
  })
}

/** Runs only queries, which may be repeated. Without a response, they fail with `unavailable`. */
export function queriesOf(client: Client): Pick<Client, 'execute'> {
  return {
    execute: (statement: InStatement) =>
      client.execute(statement).catch((error) => {
        if (!isConnectionLoss(error)) throw error
        throw new GridError('unavailable', 'The database does not answer. Repeat the call.', {
          retryAfterSeconds: 1,
          notExecuted: true,
        })
      }),
  }
}

/** The store's settings. A local file uses only `url`, and returns integers as numbers. */
type ClientSettings = Pick<RemoteSettings, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch' | 'post'>

/** Like `createClient`, but a local file always has one connection, which the first statement opens. */
export function connect(settings: ClientSettings): Client {
  const path = localPath(settings.url)
  return path === undefined ? connectRemote(settings) : new FileClient(path)
}
