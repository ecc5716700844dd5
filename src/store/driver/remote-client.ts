/**
 * The client of a remote database: that of the driver, with commits on a stream that stays open. For each commit the
 * driver opens a connection of the server to its file, which takes as long as some ten statements.
 */
import { type Client, type Config, createClient, type ResultSet } from '@libsql/client'
import { type HttpClient, openHttp, parseLibsqlUrl } from '@libsql/hrana-client'
import { commitBatch, ReusableStream, type Subjected, toLibsqlError } from './remote-stream.ts'
import { StatementSets } from './statement-sets.ts'

/** Over a WebSocket (`ws://`) the driver keeps the connection itself. */
export function connectRemote(settings: Config): Client {
  const driver = createClient(settings)
  const { hranaHttpUrl, authToken = settings.authToken } = parseLibsqlUrl(settings.url)
  if (hranaHttpUrl === undefined) return driver

  const client = openHttp(hranaHttpUrl, authToken, settings.fetch)
  client.intMode = 'number'
  const commits = new Commits(client)
  const close = driver.close.bind(driver)
  return Object.assign(driver, {
    batch: (statements: Subjected[]) => commits.commit(statements),
    close() {
      commits.close()
      close()
    },
  })
}

/** Commits one group after the other. */
class Commits {
  readonly #client: HttpClient
  readonly #stream: ReusableStream
  readonly #sets = new StatementSets()
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: HttpClient) {
    this.#client = client
    this.#stream = new ReusableStream(client)
  }

  /** Run statements as one transaction. Fails with the error that the driver would throw. */
  commit(statements: Subjected[]): Promise<ResultSet[]> {
    const commit = () => this.#commit(statements)
    const result = this.#last.then(commit, commit)
    this.#last = result.catch(() => {})
    return result
  }

  close(): void {
    this.#stream.close()
    this.#client.close()
  }

  async #commit(statements: Subjected[]): Promise<ResultSet[]> {
    try {
      return await this.#stream.use((stream) => commitBatch(stream, this.#sets, statements))
    } catch (error) {
      // Its transaction may still be open.
      this.#stream.close()
      throw toLibsqlError(error as Error)
    }
  }
}
