/** Statements and results in the format of the driver's own client, and prepared statements for a local file. */
import type { InStatement, InValue, ResultSet, Row, Value } from '@libsql/client'
import type Database from 'libsql'
import { Buffer } from 'node:buffer'

export type Connection = InstanceType<typeof Database>

export interface PlainStatement {
  sql: string
  args: InValue[]
}

export function plain(statement: InStatement): PlainStatement {
  if (typeof statement === 'string') return { sql: statement, args: [] }
  const { sql, args = [] } = statement
  if (!Array.isArray(args)) throw new TypeError('Arguments must be an array')
  return { sql, args }
}

/** Matches statements that return at most one row. */
const endsInLimit = /\slimit 1$/i

/** Prepares a statement, which then runs with each list of values. */
export function prepared(sql: string, connection: Connection): (args: InValue[]) => ResultSet {
  const native = connection.prepare<unknown[]>(sql).safeIntegers(true)
  const isQuery = native.reader
  const columns = isQuery ? native.raw(true).columns() : []
  const [names, types] = [columns.map(({ name }) => name), columns.map(({ type }) => type ?? '')]
  const Row = rowClassOf(names)
  // `all` opens a cursor, which takes longer than most queries of the grid.
  const isSingle = endsInLimit.test(sql)
  let count: number | undefined

  return (args) => {
    const values = args.map(toArgument)
    // A missing value would keep the value of the previous call, perhaps from another account.
    count ??= values.length
    if (values.length !== count) {
      throw new TypeError(`The statement takes ${count} values and was given ${values.length}`)
    }
    if (!isQuery) {
      const { changes, lastInsertRowid } = native.run(values)
      return resultSet({ columns: [], rows: [], rowsAffected: changes, lastInsertRowid: BigInt(lastInsertRowid) })
    }
    const rows = isSingle ? [native.get(values)].filter((row) => row !== undefined) : native.all(values)
    return resultSet({
      columns: names,
      columnTypes: types,
      rows: rows.map((row) => new Row((row as unknown[]).map(toValue))),
    })
  }
}

export function resultSet(
  { columns, columnTypes = columns.map(() => ''), rows, rowsAffected = 0, lastInsertRowid }:
    & Pick<ResultSet, 'columns' | 'rows'>
    & Partial<ResultSet>,
): ResultSet {
  return { columns, columnTypes, rows, rowsAffected, lastInsertRowid, toJSON }
}

function toJSON(this: ResultSet) {
  const { columns, columnTypes, rowsAffected, lastInsertRowid } = this
  const rows = this.rows.map((row) => Array.from(row))
  return { columns, columnTypes, rows, rowsAffected, lastInsertRowid: lastInsertRowid?.toString() ?? null }
}

/** Converts an argument like the driver does. Any other object would make the native driver terminate the process. */
function toArgument(value: InValue): InValue {
  if (typeof value === 'string' || value === null || typeof value === 'bigint') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value instanceof ArrayBuffer) return Buffer.from(value)
  if (value instanceof Uint8Array) return value
  if (typeof value === 'number') {
    throw new RangeError('Only finite numbers (not Infinity or NaN) can be passed as arguments')
  }
  throw new TypeError(`${typeof value} cannot be passed as argument to the database`)
}

function toValue(value: unknown): Value {
  if (value instanceof Uint8Array) return value.buffer as ArrayBuffer
  if (typeof value !== 'bigint') return value as Value
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError('Received integer which cannot be safely represented as a JavaScript number')
}

type RowClass = new (values: Value[]) => Row

/** The class of a result's rows. Values by name are own properties, and values by index are getters of the class. */
export function rowClassOf(names: string[]): RowClass {
  // The first of two columns with the same name is used. An index takes precedence over a column whose name is a
  // number.
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
  return NamedRow as unknown as RowClass
}
