/** The client of a remote database: that of the driver, with queries and commits on streams that stay open. */
import { type Client, type Config, createClient, type InStatement } from '@libsql/client'
import { parseLibsqlUrl } from '@libsql/hrana-client'
import { GridError } from '../../errors.ts'
import { isConnectionLoss } from './database-errors.ts'
import { FileClient } from './file-client.ts'
import { localPath } from './local-file.ts'
import { plain } from './prepared-statement.ts'
import { openPost, type Post, RemoteStream } from './remote-stream.ts'
import { RemoteQueries, type Send } from './remote-queries.ts'

/** How many requests with queries may run at once. The server opens a stream for each that is used. */
const queryStreams = 3

/** `post` sends requests. Its default is for commands that move a whole database. */
type RemoteSettings = Config & { post?: Post }

/** Over a WebSocket (`ws://`) it is the client of the driver. */
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

/** Runs queries only, which may be repeated: without an answer they fail with `unavailable`. */
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

/** The settings of the store. A local file uses only `url`, and returns integers as numbers. */
type ClientSettings = Pick<RemoteSettings, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch' | 'post'>

/** Like `createClient`, but a local file always has one connection, which is opened by the first statement. */
export function connect(settings: ClientSettings): Client {
  const path = localPath(settings.url)
  return path === undefined ? connectRemote(settings) : new FileClient(path)
}
