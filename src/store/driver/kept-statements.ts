/**
 * The statements of a connection to a local file. The driver prepares each one anew and defines every value of a
 * row twice as a property of its own, which together is most of what a short query costs.
 */
import { Buffer } from 'node:buffer'
import { type InValue, LibsqlError, type ResultSet, type Row, type Value } from '@libsql/client'
import type { ConnectionPool } from '@libsql/client/sqlite3'

export type Connection = ReturnType<ConnectionPool['acquireSync']>
type Prepared = ReturnType<Connection['prepare']>

/** Our own texts are constant and about 150; what is beyond this was made up on the way. */
const maxKept = 500

/**
 * What neither changes the schema nor a setting. Only these are kept: after any other statement
 * the columns of those before it may be different ones.
 */
const isPlain = (sql: string) => /^(select|insert|update|delete|with|begin|commit)\b/i.test(sql)

/** With 1 as its last value, such a text has one row at most. */
const endsInLimit = /\slimit \?$/i

/**
 * Runs statements, each prepared once for its text.
 *
 * A statement that failed may stay active, and with it what others write is acknowledged and
 * never committed. So the first error ends all of them; those that ran to their end are not active.
 */
export class Statements {
  readonly #kept = new Map<string, Statement>()
  readonly #prepare: (sql: string) => Prepared

  constructor(connection: Connection) {
    const prepare = connection.prepare.bind(connection) as (sql: string) => Prepared
    this.#prepare = prepare
    // What changes the schema the driver runs itself.
    connection.prepare = ((sql: string) => {
      if (!isPlain(sql)) this.#kept.clear()
      return prepare(sql)
    }) as Connection['prepare']
  }

  /** Fails with the `LibsqlError` or `RangeError` that the driver would give. */
  run(sql: string, args: InValue[]): ResultSet {
    try {
      return this.#get(sql).run(args)
    } catch (error) {
      this.#kept.clear()
      throw asLibsqlError(error)
    }
  }

  #get(sql: string): Statement {
    const known = this.#kept.get(sql)
    if (known) return known
    if (!isPlain(sql) || this.#kept.size === maxKept) this.#kept.clear()
    const statement = new Statement(sql, this.#prepare)
    if (isPlain(sql)) this.#kept.set(sql, statement)
    return statement
  }
}

class Statement {
  readonly #prepared: Prepared
  /**
   * To fetch all rows the driver opens a cursor, which costs more than most of our queries; one row it just gives.
   * A statement of its own does that: `get` resets it behind a call and not before, so behind `all` it would
   * answer for the values of the call before.
   */
  readonly #forOne: Prepared | undefined
  /** Undefined when it returns no rows. */
  readonly #columns: Columns | undefined
  #expected: number | undefined

  constructor(sql: string, prepare: (sql: string) => Prepared) {
    const configured = () => {
      const prepared = prepare(sql)
      prepared.safeIntegers(true)
      return prepared.reader ? prepared.raw(true) : prepared
    }
    this.#prepared = configured()
    if (!this.#prepared.reader) return
    this.#columns = new Columns(this.#prepared.columns())
    if (endsInLimit.test(sql)) this.#forOne = configured()
  }

  run(given: InValue[]): ResultSet {
    const args = given.map(asArgument)
    // A value that is missing would be the one of the call before, perhaps of another account.
    this.#expected ??= args.length
    if (args.length !== this.#expected) {
      throw new TypeError(`The statement takes ${this.#expected} values and was given ${args.length}`)
    }
    if (this.#columns) return new Answer(this.#columns, this.#rows(args))
    const { changes, lastInsertRowid } = this.#prepared.run(args)
    return new Answer(none, [], changes, BigInt(lastInsertRowid))
  }

  #rows(args: InValue[]): Value[][] {
    if (!this.#forOne || args[args.length - 1] !== 1) return this.#prepared.all(args) as Value[][]
    const row = this.#forOne.get(args) as Value[] | undefined
    return row === undefined ? [] : [row]
  }
}

/** Names and types of the columns, and the class of their rows. */
class Columns {
  readonly names: string[]
  readonly types: string[]
  readonly Row: new (values: Value[]) => Row

  constructor(columns: { name: string; type: string | null }[]) {
    this.names = columns.map(({ name }) => name)
    this.types = columns.map(({ type }) => type ?? '')
    this.Row = rowOf(this.names)
  }
}

/** Rows have their values under their names, and the class has what finds them by their places. */
function rowOf(names: string[]): new (values: Value[]) => Row {
  // Of two columns of one name the first has it; a place is a place even where a column is called so.
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

const none = new Columns([])

class Answer implements ResultSet {
  readonly columns: string[]
  readonly columnTypes: string[]
  readonly rows: Row[]
  readonly rowsAffected: number
  readonly lastInsertRowid: bigint | undefined

  constructor({ names, types, Row }: Columns, rows: Value[][], rowsAffected = 0, lastInsertRowid?: bigint) {
    this.columns = names
    this.columnTypes = types
    this.rows = rows.map((values) => new Row(values.map(asValue)))
    this.rowsAffected = rowsAffected
    this.lastInsertRowid = lastInsertRowid
  }

  toJSON() {
    const { columns, columnTypes, rowsAffected, lastInsertRowid } = this
    const rows = this.rows.map((row) => Array.from(row))
    return { columns, columnTypes, rows, rowsAffected, lastInsertRowid: lastInsertRowid?.toString() ?? null }
  }
}

/** As the driver takes it: an object of any other kind would end the process. */
function asArgument(value: InValue): InValue {
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

/** As the driver gives it. */
function asValue(value: unknown): Value {
  if (value instanceof Uint8Array) return value.buffer as ArrayBuffer
  if (typeof value !== 'bigint') return value as Value
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError('Received integer which cannot be safely represented as a JavaScript number')
}

/** The native driver's errors carry the extended code, whose first words are the code. */
function asLibsqlError(error: unknown): unknown {
  const { code, rawCode, message } = error as { code?: unknown; rawCode?: number; message: string }
  if (error instanceof LibsqlError || typeof code !== 'string' || !code.startsWith('SQLITE_')) return error
  return new LibsqlError(message, code.split('_', 2).join('_'), code, rawCode, error as Error)
}
