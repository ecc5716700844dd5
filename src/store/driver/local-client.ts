/**
 * The database client. A remote database has the client of the driver. A local file has a client of ours, which caches
 * statements. See docs/delivery.md, "Local client".
 */
import {
  type Client,
  type Config,
  createClient,
  type InArgs,
  type InStatement,
  type InValue,
  LibsqlBatchError,
  LibsqlError,
  type ResultSet,
  type TransactionMode,
} from '@libsql/client'
import { ConnectionPool, Sqlite3Client } from '@libsql/client/sqlite3'
import { localPath } from './local-file.ts'
import { type SqliteConnection, StatementCache } from './statement-cache.ts'

const begin: Record<TransactionMode, string> = {
  write: 'BEGIN IMMEDIATE',
  read: 'BEGIN TRANSACTION READONLY',
  deferred: 'BEGIN DEFERRED',
}

/** The settings of the store. A local file uses only `url`, and returns integers as numbers. */
type ClientSettings = Pick<Config, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch'>

/** Like `createClient`, but a local file always has one connection, which is opened by the first statement. */
export function connect(settings: ClientSettings): Client {
  const path = localPath(settings.url)
  return path === undefined ? createClient(settings) : new LocalClient(path)
}

/** The client of a local file. It caches the statements of `execute` and `batch`, and makes their result sets. */
class LocalClient extends Sqlite3Client {
  readonly #pool: ConnectionPool
  readonly #caches = new WeakMap<SqliteConnection, StatementCache>()

  constructor(path: string) {
    const pool = new ConnectionPool(path, {}, 1)
    super(pool, 'number')
    this.#pool = pool
  }

  override execute(statement: InStatement): Promise<ResultSet>
  override execute(sql: string, args?: InArgs): Promise<ResultSet>
  override execute(statement: InStatement, args?: InArgs): Promise<ResultSet> {
    return this.#withConnection((cache) => cache.run(...sqlAndArgs(statement, args)))
  }

  override batch(batch: (InStatement | [string, InArgs?])[], mode: TransactionMode = 'deferred'): Promise<ResultSet[]> {
    return this.#withConnection((cache, connection) => {
      cache.run(begin[mode], [])
      const results = batch.map((statement, i) => {
        if (!connection.inTransaction) {
          throw new LibsqlBatchError('The transaction has been rolled back', i, 'TRANSACTION_CLOSED')
        }
        try {
          return cache.run(...(Array.isArray(statement) ? sqlAndArgs(...statement) : sqlAndArgs(statement)))
        } catch (error) {
          throw error instanceof LibsqlError ? toBatchError(error, i) : error
        }
      })
      cache.run('COMMIT', [])
      return results
    })
  }

  /** A transaction that `work` leaves open is rolled back when the connection returns to the pool. */
  async #withConnection<Result>(
    work: (cache: StatementCache, connection: SqliteConnection) => Result,
  ): Promise<Result> {
    const connection = await this.#pool.acquire()
    try {
      if (!connection.open) throw new LibsqlError('The connection is closed', 'CLIENT_CLOSED')
      let cache = this.#caches.get(connection)
      if (!cache) this.#caches.set(connection, cache = new StatementCache(connection))
      return work(cache, connection)
    } finally {
      this.#pool.release(connection)
    }
  }
}

function sqlAndArgs(statement: InStatement, args?: InArgs): [sql: string, args: InValue[]] {
  if (typeof statement !== 'string') return sqlAndArgs(statement.sql, statement.args)
  if (args !== undefined && !Array.isArray(args)) throw new TypeError('Arguments must be an array')
  return [statement, args ?? []]
}

function toBatchError({ message, code, extendedCode, rawCode, cause }: LibsqlError, i: number): LibsqlBatchError {
  return new LibsqlBatchError(message, i, code, extendedCode, rawCode, cause as Error)
}
