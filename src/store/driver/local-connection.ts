/**
 * The connection to a local file. It runs statements one after the other, in the thread that made it, and caches them.
 * See docs/delivery.md, "Local client".
 */
import type { InValue, TransactionMode, Value } from '@libsql/client'
import { ConnectionPool, LibsqlBatchError, LibsqlError } from '@libsql/client/sqlite3'

/** A statement with the values that `toArgument` of `local-client.ts` lets pass. */
export interface LocalStatement {
  sql: string
  args: InValue[]
}

/** Names and types of the columns of a statement: the same object as long as the statement is cached. */
export interface ResultColumns {
  names: string[]
  types: string[]
}

/** What a statement returned. */
export interface RawResult {
  /** Undefined for a statement that returns no rows. */
  columns: ResultColumns | undefined
  rows: Value[][]
  changes: number
  lastInsertRowid: number | bigint | undefined
}

const begin: Record<TransactionMode, string> = {
  write: 'BEGIN IMMEDIATE',
  read: 'BEGIN TRANSACTION READONLY',
  deferred: 'BEGIN DEFERRED',
}

/** One connection, which is opened by the first statement. All errors are those that the driver would throw. */
export class LocalConnection {
  readonly #pool: ConnectionPool
  readonly #caches = new WeakMap<SqliteConnection, StatementCache>()

  constructor(path: string) {
    this.#pool = new ConnectionPool(path, {}, 1)
  }

  execute({ sql, args }: LocalStatement): RawResult {
    return this.#withConnection((cache) => cache.run(sql, args))
  }

  /** One transaction. When this returns, it is committed. */
  batch(statements: LocalStatement[], mode: TransactionMode): RawResult[] {
    return this.#withConnection((cache, connection) => runTransaction(cache, connection, statements, mode))
  }

  /** One transaction without foreign keys. */
  migrate(statements: LocalStatement[]): RawResult[] {
    return this.#withConnection((cache, connection) => {
      cache.run('PRAGMA foreign_keys = off', [])
      try {
        return runTransaction(cache, connection, statements, 'deferred')
      } finally {
        // Foreign keys cannot be switched inside a transaction.
        if (connection.inTransaction) cache.run('ROLLBACK', [])
        cache.run('PRAGMA foreign_keys = on', [])
      }
    })
  }

  /** The next statement opens a new connection. */
  reconnect(): void {
    this.#pool.reopen()
  }

  close(): void {
    this.#pool.close()
  }

  /** A transaction that `work` leaves open is rolled back when the connection returns to the pool. */
  #withConnection<Result>(work: (cache: StatementCache, connection: SqliteConnection) => Result): Result {
    const connection = this.#pool.acquireSync()
    try {
      let cache = this.#caches.get(connection)
      if (!cache) this.#caches.set(connection, cache = new StatementCache(connection))
      return work(cache, connection)
    } finally {
      this.#pool.release(connection)
    }
  }
}

function runTransaction(
  cache: StatementCache,
  connection: SqliteConnection,
  statements: LocalStatement[],
  mode: TransactionMode,
): RawResult[] {
  cache.run(begin[mode], [])
  const results = statements.map(({ sql, args }, i) => {
    if (!connection.inTransaction) {
      throw new LibsqlBatchError('The transaction has been rolled back', i, 'TRANSACTION_CLOSED')
    }
    try {
      return cache.run(sql, args)
    } catch (error) {
      throw error instanceof LibsqlError ? toBatchError(error, i) : error
    }
  })
  cache.run('COMMIT', [])
  return results
}

function toBatchError({ message, code, extendedCode, rawCode, cause }: LibsqlError, i: number): LibsqlBatchError {
  return new LibsqlBatchError(message, i, code, extendedCode, rawCode, cause as Error)
}

type SqliteConnection = ReturnType<ConnectionPool['acquireSync']>
type NativeStatement = ReturnType<SqliteConnection['prepare']>

/** The grid has about 150 constant SQL texts; more than this would be texts made at run time. */
export const maxCached = 500

/**
 * Whether a statement changes neither the schema nor a setting. Only these are cached. Any other statement clears the
 * cache, because it may change the columns of cached statements.
 */
const isCacheable = (sql: string) => /^(select|insert|update|delete|with|begin|commit)\b/i.test(sql)

/** Such a statement returns at most one row. */
const endsInLimit = /\slimit 1$/i

/**
 * Runs statements, and prepares each SQL text once.
 *
 * A failed statement may stay active, and while it does, the writes of others are acknowledged but never committed. So
 * every error clears the cache. Statements that ran to their end are not active.
 */
class StatementCache {
  readonly #cached = new Map<string, CachedStatement>()
  readonly #connection: SqliteConnection

  constructor(connection: SqliteConnection) {
    this.#connection = connection
  }

  /** Fails with the `LibsqlError` or `RangeError` that the driver would throw. */
  run(sql: string, args: InValue[]): RawResult {
    try {
      return this.#get(sql).run(args)
    } catch (error) {
      this.#cached.clear()
      throw toLibsqlError(error)
    }
  }

  #get(sql: string): CachedStatement {
    const known = this.#cached.get(sql)
    if (known) return known
    if (!isCacheable(sql) || this.#cached.size === maxCached) this.#cached.clear()
    const statement = new CachedStatement(sql, this.#connection)
    if (isCacheable(sql)) this.#cached.set(sql, statement)
    return statement
  }
}

class CachedStatement {
  readonly #statement: NativeStatement
  /**
   * A second native statement for results of one row, because `all` opens a cursor, which costs more than most of our
   * queries, and `get` does not. It must be a second one: `get` resets the statement after a call and not before, so
   * after `all` it would return a row for the arguments of the previous call.
   */
  readonly #single: NativeStatement | undefined
  /** Undefined for a statement that returns no rows. */
  readonly #columns: ResultColumns | undefined
  #parameterCount: number | undefined

  constructor(sql: string, connection: SqliteConnection) {
    const configured = () => {
      const prepared = connection.prepare(sql)
      prepared.safeIntegers(true)
      return prepared.reader ? prepared.raw(true) : prepared
    }
    this.#statement = configured()
    if (!this.#statement.reader) return
    const columns = this.#statement.columns() as { name: string; type: string | null }[]
    this.#columns = { names: columns.map(({ name }) => name), types: columns.map(({ type }) => type ?? '') }
    if (endsInLimit.test(sql)) this.#single = configured()
  }

  run(args: InValue[]): RawResult {
    // A missing argument would keep its value from the previous call, perhaps of another account.
    this.#parameterCount ??= args.length
    if (args.length !== this.#parameterCount) {
      throw new TypeError(`The statement takes ${this.#parameterCount} values and was given ${args.length}`)
    }
    if (this.#columns) {
      const rows = this.#rows(args).map((values) => values.map(toValue))
      return { columns: this.#columns, rows, changes: 0, lastInsertRowid: undefined }
    }
    return { columns: undefined, rows: [], ...this.#statement.run(args) }
  }

  #rows(args: InValue[]): unknown[][] {
    if (!this.#single) return this.#statement.all(args) as unknown[][]
    const row = this.#single.get(args) as unknown[] | undefined
    return row === undefined ? [] : [row]
  }
}

/** Converts a value as the driver does. */
function toValue(value: unknown): Value {
  if (value instanceof Uint8Array) return value.buffer as ArrayBuffer
  if (typeof value !== 'bigint') return value as Value
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError('Received integer which cannot be safely represented as a JavaScript number')
}

/** The errors of the native driver have the extended code, which begins with the primary code. */
function toLibsqlError(error: unknown): unknown {
  const { code, rawCode, message } = error as { code?: unknown; rawCode?: number; message: string }
  if (error instanceof LibsqlError || typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  return new LibsqlError(message, code.split('_', 2).join('_'), code, rawCode, error as Error)
}
