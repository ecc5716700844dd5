/** The client for a local file: one connection, with a cache of prepared statements. */
import type { Client, InStatement, InValue, ResultSet, TransactionMode } from '@libsql/client'
import { LibsqlBatchError, LibsqlError } from '@libsql/client/sqlite3'
import Database from 'libsql'
import { type Connection, plain, prepared } from './prepared-statement.ts'

const begin = { write: 'BEGIN IMMEDIATE', read: 'BEGIN TRANSACTION READONLY', deferred: 'BEGIN DEFERRED' }
const maxKept = 1_000
/** Any other statement clears the cache, because it may change the columns of cached statements. */
const isKept = (sql: string) => /^(select|insert|update|delete|with|begin|commit)\b/i.test(sql)

/**
 * Runs statements in call order, and blocks the event loop. The first statement opens the connection. Throws the same
 * errors as the driver's own client.
 *
 * A failed statement may stay active. Until it is finished, other callers' writes are acknowledged but never committed.
 * So every error clears the cache. Statements that ran to completion are not active.
 */
export class FileClient implements Client {
  readonly protocol = 'file'
  closed = false
  transaction: Client['transaction'] = notOffered
  sync: Client['sync'] = notOffered
  reconnect: Client['reconnect'] = notOffered
  readonly #path: string
  #connection: Connection | undefined
  #isLost = false
  readonly #kept = new Map<string, (values: InValue[]) => ResultSet>()

  constructor(path: string) {
    this.#path = path
  }

  execute(statement: InStatement): Promise<ResultSet> {
    return this.#use(() => this.#run(statement))
  }

  batch(statements: InStatement[], mode: TransactionMode = 'deferred'): Promise<ResultSet[]> {
    return this.#use((connection) => this.#runAll(connection, statements, mode))
  }

  /** Runs one transaction with foreign keys disabled, which must happen before the transaction begins. */
  migrate(statements: InStatement[]): Promise<ResultSet[]> {
    return this.#use((connection) => {
      this.#run('PRAGMA foreign_keys = off')
      try {
        return this.#runAll(connection, statements, 'deferred')
      } finally {
        if (connection.inTransaction) connection.exec('ROLLBACK')
        this.#run('PRAGMA foreign_keys = on')
      }
    })
  }

  /** Closes all statements, so that `close` releases the file. */
  executeMultiple(sql: string): Promise<void> {
    this.#kept.clear()
    return this.#use((connection) => void connection.exec(sql))
  }

  close(): void {
    this.closed = true
    this.#kept.clear()
    this.#connection?.close()
    this.#connection = undefined
  }

  /** Rolls back a transaction that was left open. If that fails, the connection is not used again. */
  #use<Result>(work: (connection: Connection) => Result): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#isLost) throw new LibsqlError('The connection to the database was lost', 'CONNECTION_LOST')
      if (this.closed) throw new LibsqlError('The client is closed', 'CLIENT_CLOSED')
      const connection = this.#connection ??= new Database(this.#path)
      try {
        resolve(work(connection))
      } catch (error) {
        this.#kept.clear()
        throw toLibsqlError(error)
      } finally {
        try {
          if (connection.inTransaction) connection.exec('ROLLBACK')
        } catch {
          this.close()
          this.#isLost = true
        }
      }
    })
  }

  #runAll(connection: Connection, statements: InStatement[], mode: TransactionMode): ResultSet[] {
    this.#run(begin[mode])
    const results = statements.map((statement, i) => {
      if (!connection.inTransaction) {
        throw new LibsqlBatchError('The transaction has been rolled back', i, 'TRANSACTION_CLOSED')
      }
      try {
        return this.#run(statement)
      } catch (error) {
        const found = toLibsqlError(error)
        if (!(found instanceof LibsqlError)) throw found
        const { message, code, extendedCode, rawCode, cause } = found
        throw new LibsqlBatchError(message, i, code, extendedCode, rawCode, cause as Error)
      }
    })
    this.#run('COMMIT')
    return results
  }

  #run(statement: InStatement): ResultSet {
    const { sql, args } = plain(statement)
    let run = this.#kept.get(sql)
    if (!run) {
      if (!isKept(sql) || this.#kept.size === maxKept) this.#kept.clear()
      run = prepared(sql, this.#connection!)
      if (isKept(sql)) this.#kept.set(sql, run)
    }
    return run(args)
  }
}

function notOffered(): Promise<never> {
  return Promise.reject(new TypeError('The client for local files does not support this'))
}

/** The driver has no names for some codes, for example for a read-only folder. The low byte is the primary code. */
const kinds: Record<number, string> = { 8: 'SQLITE_READONLY', 10: 'SQLITE_IOERR' }

/** @see https://sqlite.org/rescode.html */
function toLibsqlError(error: unknown): unknown {
  const { code: given, rawCode = 0, message } = error as { code?: unknown; rawCode?: number; message: string }
  const code = String(given).startsWith('UNKNOWN_SQLITE_ERROR') ? kinds[rawCode & 0xff] : given
  if (error instanceof LibsqlError || typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  return new LibsqlError(message, code.split('_', 2).join('_'), code, rawCode, error as Error)
}
