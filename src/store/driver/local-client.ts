/** The database client: the driver's, but on a local file what runs all the time is done at less cost. */
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
import { type Connection, Statements } from './kept-statements.ts'

const begin: Record<TransactionMode, string> = {
  write: 'BEGIN IMMEDIATE',
  read: 'BEGIN TRANSACTION READONLY',
  deferred: 'BEGIN DEFERRED',
}

/** What the store asks for; a local file takes `url` alone, and gives integers as numbers. */
type Settings = Pick<Config, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch'>

/** `createClient`, but a local file always has one connection, and is opened at the first statement. */
export function connect(settings: Settings): Client {
  const path = localPath(settings.url)
  return path === undefined ? createClient(settings) : new LocalClient(path)
}

/** The client of a local file. Statements that run alone or in batches are kept, and their answers made here. */
class LocalClient extends Sqlite3Client {
  readonly #pool: ConnectionPool
  readonly #statements = new WeakMap<Connection, Statements>()

  constructor(path: string) {
    const pool = new ConnectionPool(path, {}, 1)
    super(pool, 'number')
    this.#pool = pool
  }

  override execute(statement: InStatement): Promise<ResultSet>
  override execute(sql: string, args?: InArgs): Promise<ResultSet>
  override execute(statement: InStatement, args?: InArgs): Promise<ResultSet> {
    return this.#with((statements) => statements.run(...textAndArgs(statement, args)))
  }

  override batch(batch: (InStatement | [string, InArgs?])[], mode: TransactionMode = 'deferred'): Promise<ResultSet[]> {
    return this.#with((statements, connection) => {
      statements.run(begin[mode], [])
      const results = batch.map((statement, i) => {
        if (!connection.inTransaction) {
          throw new LibsqlBatchError('The transaction has been rolled back', i, 'TRANSACTION_CLOSED')
        }
        try {
          return statements.run(...(Array.isArray(statement) ? textAndArgs(...statement) : textAndArgs(statement)))
        } catch (error) {
          throw error instanceof LibsqlError ? inBatch(error, i) : error
        }
      })
      statements.run('COMMIT', [])
      return results
    })
  }

  /** What `work` leaves open is rolled back when its connection goes back into the pool. */
  async #with<Result>(work: (statements: Statements, connection: Connection) => Result): Promise<Result> {
    const connection = await this.#pool.acquire()
    try {
      if (!connection.open) throw new LibsqlError('The connection was closed meanwhile', 'CLIENT_CLOSED')
      let statements = this.#statements.get(connection)
      if (!statements) this.#statements.set(connection, statements = new Statements(connection))
      return work(statements, connection)
    } finally {
      this.#pool.release(connection)
    }
  }
}

function textAndArgs(statement: InStatement, args?: InArgs): [sql: string, args: InValue[]] {
  if (typeof statement !== 'string') return textAndArgs(statement.sql, statement.args)
  if (args !== undefined && !Array.isArray(args)) throw new TypeError('Values are given in a list')
  return [statement, args ?? []]
}

function inBatch({ message, code, extendedCode, rawCode, cause }: LibsqlError, i: number): LibsqlBatchError {
  return new LibsqlBatchError(message, i, code, extendedCode, rawCode, cause as Error)
}
