/**
 * Batches queries to a remote database. A request costs both sides far more than a query, so all queries that wait
 * while one request is in flight are sent together as the next request. Each query is a step that fails alone. One
 * request is in flight at a time, and results arrive in the order of the calls.
 *
 * A batch is not a transaction: each query sees every commit that was acknowledged before its call.
 */
import type { Client, Config, InStatement, ResultSet } from '@libsql/client'
import { type HttpClient, openHttp, parseLibsqlUrl } from '@libsql/hrana-client'
import { setImmediate } from 'node:timers'
import { GridError } from '../../errors.ts'
import { isConnectionLoss } from './database-errors.ts'
import { queryBatch, ReusableStream, toLibsqlError } from './remote-stream.ts'
import { StatementSets } from './statement-sets.ts'

export interface QueryBatcher {
  /**
   * Run one SELECT. Fails with `unavailable` if the database does not answer, otherwise with the error of the driver.
   */
  execute(statement: InStatement): Promise<ResultSet>
  /** Later queries fail. */
  close(): void
}

/** The results of one request are one response, which the server limits to 10 MB. */
const maxBatchSize = 64

interface PendingQuery {
  statement: InStatement
  resolve(result: ResultSet): void
  reject(error: unknown): void
  isSettled?: true
}

/** Over a WebSocket (`ws://`) the driver runs the queries itself: there a query is one message and costs little. */
export function openQueryBatcher(settings: Pick<Config, 'url' | 'authToken' | 'fetch'>, driver: Client): QueryBatcher {
  const { hranaHttpUrl, authToken = settings.authToken } = parseLibsqlUrl(settings.url)
  if (hranaHttpUrl === undefined) {
    return { execute: (statement) => driver.execute(statement).catch(orUnavailable), close() {} }
  }
  const client = openHttp(hranaHttpUrl, authToken, settings.fetch)
  client.intMode = 'number'
  const queue = new QueryQueue(client)
  return { execute: (statement) => queue.execute(statement).catch(orUnavailable), close: () => queue.close() }
}

class QueryQueue {
  readonly #client: HttpClient
  readonly #stream: ReusableStream
  readonly #sets = new StatementSets()
  #pending: PendingQuery[] = []
  #isRunning = false

  constructor(client: HttpClient) {
    this.#client = client
    this.#stream = new ReusableStream(client)
  }

  /** Run one SELECT. Fails with the error that the driver would throw. */
  execute(statement: InStatement): Promise<ResultSet> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ statement, resolve, reject })
      if (this.#isRunning) return
      this.#isRunning = true
      setImmediate(() => void this.#run())
    })
  }

  close(): void {
    this.#stream.close()
    this.#client.close()
  }

  async #run(): Promise<void> {
    while (this.#pending.length > 0) {
      await this.#runBatch(this.#pending.splice(0, maxBatchSize))
      // A turn of the event loop, not a delay: callers that continue with another query share the next request.
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#isRunning = false
  }

  async #runBatch(batch: PendingQuery[]): Promise<void> {
    try {
      await this.#send(batch)
    } catch (error) {
      const rest = batch.filter(({ isSettled }) => !isSettled)
      // One query is at fault, or the results are too large for one response.
      if (batch.length > 1 && this.#stream.isOpen) {
        for (const query of rest) await this.#runBatch([query])
      } else {
        for (const { reject } of rest) reject(toLibsqlError(error as Error))
      }
    }
  }

  #send(batch: PendingQuery[]): Promise<void> {
    const statements = batch.map(({ statement }) => statement)
    return this.#stream.use((stream) =>
      queryBatch(stream, this.#sets, statements, (i, result) => {
        const query = batch[i]
        query.isSettled = true
        if (result instanceof Error) query.reject(result)
        else query.resolve(result)
      })
    )
  }
}

/** A query that was not answered changed nothing and may be repeated. */
function orUnavailable(error: unknown): never {
  if (!isConnectionLoss(error)) throw error
  throw new GridError('unavailable', 'The database does not answer. Repeat the call.', {
    retryAfterSeconds: 1,
    notExecuted: true,
  })
}
