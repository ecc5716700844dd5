/**
 * The two words of account scoping. Every statement on an account table is
 * built once with the placeholder `account`, and a `Scope` is the only thing
 * that can run or bind it, with its own account filled in.
 */
import {
  and,
  Column,
  type DriverValueDecoder,
  eq,
  getTableName,
  is,
  Param,
  Placeholder,
  type Query,
  SQL,
  sql,
  Subquery,
} from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { Client, InValue, Row } from '@libsql/client'
import { storeFacts } from '../../../db/schema.ts'
import type { Db } from '../account.ts'

/** A named value that a statement gets when it is run. */
export function p(name: string): Placeholder {
  return sql.placeholder(name)
}

/** A named value for places where drizzle wants SQL: the columns of an `INSERT … SELECT`. Nothing is encoded there. */
export function value<T = string>(name: string): SQL.Aliased<T> {
  return sql<T>`${p(name)}`.as(name)
}

/** Rows of the caller's own account; replaces `and(…)`. An `OR` inside a condition cannot lead out of the account. */
export function own(table: { accountId: SQLiteColumn }, ...conditions: (SQL | undefined)[]): SQL {
  return and(eq(table.accountId, p('account')), ...conditions.map((condition) => condition && sql`(${condition})`))!
}

/** The rows of a new record, stamped with the caller's own account. */
export function mine<T extends Record<string, unknown>>(row: T): T & { accountId: Placeholder } {
  return { ...row, accountId: p('account') }
}

/**
 * A statement that changes nothing, and fails its whole unit unless `condition` holds when it runs:
 * it would store a fact without a value.
 */
export function demand(db: Db, condition: SQL): Query {
  return db.insert(storeFacts).select(
    db.select({ key: sql<string>`'demand'`.as('key'), value: sql<string>`NULL`.as('value') }).from(sql`(SELECT 1)`)
      .where(sql`NOT (${condition})`),
  ).toSQL()
}

/** A statement of a write, ready for the queue. `rows` says how many rows it may write (default 1). */
export interface Statement {
  sql: string
  args: InValue[]
  rows?: number
}

/** The values of a statement's placeholders. `null` is a value; `undefined` throws, and so do objects in the end. */
export type Values = Record<string, InValue>

/** What stands at one place of a statement: a constant, or what becomes of a named value. */
type Slot = { constant: InValue } | { name: string; encode?: (value: InValue) => unknown }

const slotsOf = new WeakMap<Query, Slot[]>()

/** Fill a prepared statement. `account` goes before a value of that name. */
export function bind(query: Query, values: Values, account?: string): Statement {
  let slots = slotsOf.get(query)
  if (!slots) slotsOf.set(query, slots = query.params.map(slotOf))
  const args = slots.map((slot) => {
    if ('constant' in slot) return slot.constant
    const value = slot.name === 'account' && account !== undefined ? account : values[slot.name]
    if (value === undefined) throw new TypeError(`The statement was given no value for ${slot.name}`)
    return checked(slot.encode ? slot.encode(value) as InValue : value)
  })
  return { sql: query.sql, args }
}

function slotOf(param: unknown): Slot {
  if (is(param, Placeholder)) return { name: param.name }
  if (is(param, Param) && is(param.value, Placeholder)) {
    const { encoder, value } = param
    return { name: value.name, encode: (given) => encoder.mapToDriverValue(given) }
  }
  return { constant: checked(param as InValue) }
}

/** A read that drizzle prepared. */
export interface Prepared<Answered> {
  getQuery(): Query
  all(values: Record<string, unknown>): Promise<Answered[]>
}

/** What drizzle keeps in a prepared read besides what its types show. */
interface Inside {
  client: Pick<Client, 'execute'>
  logger: { logQuery(sql: string, params: unknown[]): void }
  fields: { path: string[]; field: unknown }[]
  /** False for a table whose join may find nothing. */
  joinsNotNullableMap?: Record<string, boolean>
}

interface Question extends Pick<Inside, 'client' | 'logger'> {
  query: Query
  read: (row: Row) => unknown
}

const questions = new WeakMap<Prepared<unknown>, Question>()

/**
 * Run a prepared read. Fails with `unavailable` when a remote database does not answer.
 *
 * Drizzle made its text and knows its columns. We run it: drizzle would take as long for that as a short query.
 */
export async function ask<Answered>(
  prepared: Prepared<Answered>,
  values: Values = {},
  account?: string,
): Promise<Answered[]> {
  let question = questions.get(prepared)
  if (!question) questions.set(prepared, question = questionOf(prepared))
  const { client, logger, query, read } = question
  logger.logQuery(query.sql, [])
  const { rows } = await client.execute(bind(query, values, account))
  return rows.map(read) as Answered[]
}

function questionOf(prepared: Prepared<unknown>): Question {
  const inside = prepared as unknown as Inside
  const { client, logger } = inside
  return { client, logger, query: prepared.getQuery(), read: reader(inside) }
}

/** Makes the object of a row. A field may stand in an object of its own, but not if that object may be missing. */
function reader({ fields, joinsNotNullableMap: joins = {} }: Inside): (row: Row) => unknown {
  const columns = fields.map(({ path, field }) => {
    const [name, inner] = path
    if (path.length > 2 || (inner && is(field, Column) && joins[getTableName(field.table)] === false)) {
      throw new TypeError(`A read cannot answer ${path.join('.')}: name the field by itself`)
    }
    return { name, inner, decoder: decoderOf(field) }
  })
  return (row) => {
    const answered: Record<string, unknown> = {}
    for (let i = 0; i < columns.length; i++) {
      const { name, inner, decoder } = columns[i]
      const value = row[i] === null ? null : decoder.mapFromDriverValue(row[i])
      if (inner === undefined) answered[name] = value
      else answered[name] = { ...answered[name] as object, [inner]: value }
    }
    return answered
  }
}

function decoderOf(field: unknown): DriverValueDecoder<unknown, unknown> {
  if (is(field, Column)) return field
  const expression = is(field, SQL.Aliased) ? field.sql : is(field, Subquery) ? field._.sql : field
  return (expression as { decoder: DriverValueDecoder<unknown, unknown> }).decoder
}

/** The native driver ends the process on an object, and one `undefined` would fail a whole group of the queue. */
function checked(value: InValue): InValue {
  if (value === undefined || (typeof value === 'object' && value !== null)) {
    throw new TypeError(`The database takes no ${typeof value} as a value`)
  }
  return value
}

/** One account's way to run prepared reads and to bind prepared changes. */
export class Scope {
  readonly accountId: string

  constructor(accountId: string) {
    this.accountId = accountId
  }

  all<Row>(prepared: Prepared<Row>, values: Values = {}): Promise<Row[]> {
    return ask(prepared, values, this.accountId)
  }

  async one<Row>(prepared: Prepared<Row>, values: Values = {}): Promise<Row | undefined> {
    return (await this.all(prepared, values))[0]
  }

  bind(query: Query, values: Values = {}): Statement {
    return bind(query, values, this.accountId)
  }
}
