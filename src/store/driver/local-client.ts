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
  type Row,
  type TransactionMode,
  type Value,
} from '@libsql/client'
import { ConnectionPool, Sqlite3Client } from '@libsql/client/sqlite3'
import { Buffer } from 'node:buffer'
import { localPath } from './local-file.ts'

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

type SqliteConnection = ReturnType<ConnectionPool['acquireSync']>
type NativeStatement = ReturnType<SqliteConnection['prepare']>

/** The grid has about 150 constant SQL texts; more than this would be texts made at run time. */
const maxCached = 500

/**
 * Whether a statement changes neither the schema nor a setting. Only these are cached. Any other statement clears the
 * cache, because it may change the columns of cached statements.
 */
const isCacheable = (sql: string) => /^(select|insert|update|delete|with|begin|commit)\b/i.test(sql)

/** With 1 as its last argument, such a statement returns at most one row. */
const endsInLimit = /\slimit \?$/i

/**
 * Runs statements, and prepares each SQL text once.
 *
 * A failed statement may stay active, and while it does, the writes of others are acknowledged but never committed. So
 * every error clears the cache. Statements that ran to their end are not active.
 */
class StatementCache {
  readonly #cached = new Map<string, CachedStatement>()
  readonly #prepare: (sql: string) => NativeStatement

  constructor(connection: SqliteConnection) {
    const prepare = connection.prepare.bind(connection) as (sql: string) => NativeStatement
    this.#prepare = prepare
    // The driver itself runs migrations and transactions, which may change the schema.
    connection.prepare = ((sql: string) => {
      if (!isCacheable(sql)) this.#cached.clear()
      return prepare(sql)
    }) as SqliteConnection['prepare']
  }

  /** Fails with the `LibsqlError` or `RangeError` that the driver would throw. */
  run(sql: string, args: InValue[]): ResultSet {
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
    const statement = new CachedStatement(sql, this.#prepare)
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

  constructor(sql: string, prepare: (sql: string) => NativeStatement) {
    const configured = () => {
      const prepared = prepare(sql)
      prepared.safeIntegers(true)
      return prepared.reader ? prepared.raw(true) : prepared
    }
    this.#statement = configured()
    if (!this.#statement.reader) return
    this.#columns = new ResultColumns(this.#statement.columns())
    if (endsInLimit.test(sql)) this.#single = configured()
  }

  run(values: InValue[]): ResultSet {
    const args = values.map(toArgument)
    // A missing argument would keep its value from the previous call, perhaps of another account.
    this.#parameterCount ??= args.length
    if (args.length !== this.#parameterCount) {
      throw new TypeError(`The statement takes ${this.#parameterCount} values and was given ${args.length}`)
    }
    if (this.#columns) return new LocalResultSet(this.#columns, this.#rows(args))
    const { changes, lastInsertRowid } = this.#statement.run(args)
    return new LocalResultSet(noColumns, [], changes, BigInt(lastInsertRowid))
  }

  #rows(args: InValue[]): Value[][] {
    if (!this.#single || args[args.length - 1] !== 1) return this.#statement.all(args) as Value[][]
    const row = this.#single.get(args) as Value[] | undefined
    return row === undefined ? [] : [row]
  }
}

/** Names and types of the columns, and the class of their rows. */
class ResultColumns {
  readonly names: string[]
  readonly types: string[]
  readonly Row: new (values: Value[]) => Row

  constructor(columns: { name: string; type: string | null }[]) {
    this.names = columns.map(({ name }) => name)
    this.types = columns.map(({ type }) => type ?? '')
    this.Row = rowClassOf(this.names)
  }
}

/** The class of the rows of a result: values by name are own properties, values by index are getters of the class. */
function rowClassOf(names: string[]): new (values: Value[]) => Row {
  // The first of two columns with the same name wins, and an index wins over a column with a number as its name.
  const named = names.map((name, i) => ({ name, i }))
    .filter(({ name, i }) => names.indexOf(name) === i && !(Number(name) < names.length))

  class NamedRow {
    [name: string]: Value
    readonly #values: Value[]

    static {
      for (const i of names.keys()) {
        Object.defineProperty(this.prototype, i, {
          get(this: NamedRow) {
            return this.#values[i]
          },
        })
      }
      Object.defineProperty(this.prototype, 'length', { value: names.length })
    }

    constructor(values: Value[]) {
      this.#values = values
      for (const { name, i } of named) this[name] = values[i]
    }
  }
  return NamedRow as unknown as new (values: Value[]) => Row
}

const noColumns = new ResultColumns([])

class LocalResultSet implements ResultSet {
  readonly columns: string[]
  readonly columnTypes: string[]
  readonly rows: Row[]
  readonly rowsAffected: number
  readonly lastInsertRowid: bigint | undefined

  constructor({ names, types, Row }: ResultColumns, rows: Value[][], rowsAffected = 0, lastInsertRowid?: bigint) {
    this.columns = names
    this.columnTypes = types
    this.rows = rows.map((values) => new Row(values.map(toValue)))
    this.rowsAffected = rowsAffected
    this.lastInsertRowid = lastInsertRowid
  }

  toJSON() {
    const { columns, columnTypes, rowsAffected, lastInsertRowid } = this
    const rows = this.rows.map((row) => Array.from(row))
    return { columns, columnTypes, rows, rowsAffected, lastInsertRowid: lastInsertRowid?.toString() ?? null }
  }
}

/** Converts an argument as the driver does. The native driver ends the process when it gets any other object. */
function toArgument(value: InValue): InValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  if (value === undefined || (typeof value === 'object' && value !== null && !(value instanceof Uint8Array))) {
    throw new TypeError(`${typeof value} cannot be passed as argument to the database`)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('Only finite numbers (not Infinity or NaN) can be passed as arguments')
  }
  return value
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
