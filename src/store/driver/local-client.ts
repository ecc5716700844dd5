/**
 * The database client. A remote database has the client of the driver, whose commits are ours. A local file has a client
 * of ours, whose statements run in this thread or in one of their own. See docs/delivery.md, "Local client".
 */
import {
  type Client,
  type InArgs,
  type InStatement,
  type InValue,
  LibsqlError,
  type ResultSet,
  type Row,
  type TransactionMode,
} from '@libsql/client'
import { Buffer } from 'node:buffer'
import { type RowClass, rowClassOf } from './binding.ts'
import { LocalConnection, type LocalStatement, type RawResult, type ResultColumns } from './local-connection.ts'
import { localPath } from './local-file.ts'
import { connectRemote, type RemoteSettings } from './remote-client.ts'
import type { ThreadConnection } from './thread-connection.ts'

/** The settings of the store. A local file uses only `url` and `thread`, and returns integers as numbers. */
type ClientSettings = Pick<RemoteSettings, 'url' | 'authToken' | 'concurrency' | 'intMode' | 'fetch' | 'post'> & {
  /** Runs the statements of a local file. Absent: this thread does, and a statement holds its event loop. */
  thread?: ThreadConnection
}

/** Like `createClient`, but a local file always has one connection, which is opened by the first statement. */
export function connect({ thread, ...settings }: ClientSettings): Client {
  const path = localPath(settings.url)
  return path === undefined ? connectRemote(settings) : new LocalClient(thread ?? new LocalConnection(path))
}

/** Requests run in the order of the calls. */
class LocalClient implements Client {
  readonly protocol = 'file'
  closed = false
  transaction: Client['transaction'] = notOffered
  executeMultiple: Client['executeMultiple'] = notOffered
  sync: Client['sync'] = notOffered
  readonly #connection: LocalConnection | ThreadConnection

  constructor(connection: LocalConnection | ThreadConnection) {
    this.#connection = connection
  }

  execute(statement: InStatement): Promise<ResultSet>
  execute(sql: string, args?: InArgs): Promise<ResultSet>
  async execute(statement: InStatement, args?: InArgs): Promise<ResultSet> {
    return new LocalResultSet(await this.#open.execute(toLocal(statement, args)))
  }

  async batch(statements: (InStatement | [string, InArgs?])[], mode: TransactionMode = 'deferred') {
    return resultSets(await this.#open.batch(statements.map(toLocalPair), mode))
  }

  async migrate(statements: InStatement[]): Promise<ResultSet[]> {
    return resultSets(await this.#open.migrate(statements.map((statement) => toLocal(statement))))
  }

  async reconnect(): Promise<void> {
    await this.#connection.reconnect()
    this.closed = false
  }

  close(): void {
    if (this.closed) return
    this.closed = true
    this.#connection.close()
  }

  get #open(): LocalConnection | ThreadConnection {
    if (this.closed) throw new LibsqlError('The client is closed', 'CLIENT_CLOSED')
    return this.#connection
  }
}

function notOffered(): Promise<never> {
  return Promise.reject(new TypeError('The client of a local file does not offer this'))
}

function resultSets(results: RawResult[]): ResultSet[] {
  return results.map((result) => new LocalResultSet(result))
}

function toLocalPair(statement: InStatement | [string, InArgs?]): LocalStatement {
  return Array.isArray(statement) ? toLocal(...statement) : toLocal(statement)
}

function toLocal(statement: InStatement, args?: InArgs): LocalStatement {
  if (typeof statement !== 'string') return toLocal(statement.sql, statement.args)
  if (args !== undefined && !Array.isArray(args)) throw new TypeError('Arguments must be an array')
  return { sql: statement, args: args?.map(toArgument) ?? [] }
}

const plainTypes = new Set(['string', 'number', 'bigint'])

/** Converts an argument as the driver does. The native driver ends the process when it gets any other object. */
function toArgument(value: InValue): InValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  if (typeof value === 'object' ? value !== null && !(value instanceof Uint8Array) : !plainTypes.has(typeof value)) {
    throw new TypeError(`${typeof value} cannot be passed as argument to the database`)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError('Only finite numbers (not Infinity or NaN) can be passed as arguments')
  }
  return value
}

const rowClasses = new WeakMap<ResultColumns, RowClass>()
const noColumns: ResultColumns = { names: [], types: [] }

/** A result set as the client of the driver returns it. */
class LocalResultSet implements ResultSet {
  readonly columns: string[]
  readonly columnTypes: string[]
  readonly rows: Row[]
  readonly rowsAffected: number
  readonly lastInsertRowid: bigint | undefined

  constructor({ columns = noColumns, rows, changes, lastInsertRowid }: RawResult) {
    let Row = rowClasses.get(columns)
    if (!Row) rowClasses.set(columns, Row = rowClassOf(columns.names))
    this.columns = columns.names
    this.columnTypes = columns.types
    this.rows = rows.map((values) => new Row(values))
    this.rowsAffected = changes
    this.lastInsertRowid = lastInsertRowid === undefined ? undefined : BigInt(lastInsertRowid)
  }

  toJSON() {
    const { columns, columnTypes, rowsAffected, lastInsertRowid } = this
    const rows = this.rows.map((row) => Array.from(row))
    return { columns, columnTypes, rows, rowsAffected, lastInsertRowid: lastInsertRowid?.toString() ?? null }
  }
}
