/** Statements with named placeholders: filling them with values, and running the queries that drizzle prepared. */
import type { Client, InValue, Row } from '@libsql/client'
import {
  Column,
  type DriverValueDecoder,
  getTableName,
  is,
  Param,
  Placeholder,
  type Query,
  SQL,
  sql,
  Subquery,
} from 'drizzle-orm'
import { storeFacts } from '../../../db/schema.ts'
import { AccountDb, type Db as SqlDb, Query as SqlQuery, type Values } from '../sql.ts'
import type { Db } from './db.ts'

/** A named placeholder, which gets its value when the statement is bound. */
export function p(name: string): Placeholder {
  return sql.placeholder(name)
}

/** A placeholder where drizzle wants SQL: a column of an `INSERT … SELECT`. Its value is not encoded. */
export function value<T = string>(name: string): SQL.Aliased<T> {
  return sql<T>`${p(name)}`.as(name)
}

/** The present time by the clock of the database, in milliseconds since the epoch. */
export const databaseTime = sql<number>`CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`

/**
 * A statement that changes nothing, and fails its whole unit unless `condition` holds when it runs: it would insert
 * NULL into a column that is not nullable.
 */
export function precondition(db: Db, condition: SQL): Query {
  return db.insert(storeFacts).select(
    db.select({ key: sql<string>`'precondition'`.as('key'), value: sql<string>`NULL`.as('value') })
      .from(sql`(SELECT 1)`).where(sql`NOT (${condition})`),
  ).toSQL()
}

/**
 * A bound statement, ready for the write queue. `rows` is about how many rows it writes (default 1). Where the comment
 * of a statement says "a constraint error", its whole unit fails with `write_conflict`.
 */
export interface Statement {
  sql: string
  args: InValue[]
  rows?: number
  /** It is message traffic: it changes nothing that a look-up of a key depends on. See `KeyCache`. */
  isTraffic?: boolean
  /**
   * What its unit is about, if that may run together with others. Units of the same statements about different subjects
   * neither need nor change what the others change, so each of their statements may run for all of them before the next.
   */
  subject?: string
}

/** Values by placeholder name. `null` is a value; `undefined` and objects throw a `TypeError` when they are bound. */
export type PlaceholderValues = Values

/** A parameter of a statement: a constant, or a placeholder with the encoder of its column. */
type Parameter = { constant: InValue } | { name: string; encode?: (value: InValue) => unknown }

const parametersOf = new WeakMap<Query, Parameter[]>()

/** Fill the placeholders of a statement. `account`, if given, wins over a value of that name. */
export function bind(query: Query, values: PlaceholderValues, account?: string): Statement {
  let parameters = parametersOf.get(query)
  if (!parameters) parametersOf.set(query, parameters = query.params.map(parameterOf))
  const args = parameters.map((parameter) => {
    if ('constant' in parameter) return parameter.constant
    const value = parameter.name === 'account' && account !== undefined ? account : values[parameter.name] as InValue
    if (value === undefined) throw new TypeError(`The statement was given no value for ${parameter.name}`)
    return checkedValue(parameter.encode ? parameter.encode(value) as InValue : value)
  })
  return { sql: query.sql, args }
}

function parameterOf(param: unknown): Parameter {
  if (is(param, Placeholder)) return { name: param.name }
  if (is(param, Param) && is(param.value, Placeholder)) {
    const { encoder, value } = param
    return { name: value.name, encode: (given) => encoder.mapToDriverValue(given) }
  }
  return { constant: checkedValue(param as InValue) }
}

/** A query that drizzle prepared. */
export interface PreparedQuery<Result> {
  getQuery(): Query
  all(values: Record<string, unknown>): Promise<Result[]>
}

/** What drizzle keeps in a prepared query beside what its types show. */
interface DrizzleInternals {
  client: Pick<Client, 'execute'>
  logger: { logQuery(sql: string, params: unknown[]): void }
  fields: { path: string[]; field: unknown }[]
  /** False for a table whose join may find no row. */
  joinsNotNullableMap?: Record<string, boolean>
}

interface RunnableQuery extends Pick<DrizzleInternals, 'client' | 'logger'> {
  query: Query
  read: (row: Row) => unknown
}

const runnableQueries = new WeakMap<PreparedQuery<unknown>, RunnableQuery>()

/**
 * Run a prepared query. Fails with `unavailable` when a remote database does not answer.
 *
 * Drizzle made its SQL and knows its columns, but we execute it ourselves: drizzle takes as long for that as SQLite
 * takes for a short query.
 */
export async function runQuery<Result>(
  prepared: PreparedQuery<Result>,
  values: PlaceholderValues = {},
  account?: string,
): Promise<Result[]> {
  let runnable = runnableQueries.get(prepared)
  if (!runnable) runnableQueries.set(prepared, runnable = runnableQueryOf(prepared))
  const { client, logger, query, read } = runnable
  logger.logQuery(query.sql, [])
  const { rows } = await client.execute(bind(query, values, account))
  return rows.map(read) as Result[]
}

function runnableQueryOf(prepared: PreparedQuery<unknown>): RunnableQuery {
  const internals = prepared as unknown as DrizzleInternals
  const { client, logger } = internals
  return { client, logger, query: prepared.getQuery(), read: rowReader(internals) }
}

/** Decodes a row into an object. A field may be nested one level deep, but not in an object that may be missing. */
function rowReader({ fields, joinsNotNullableMap: joins = {} }: DrizzleInternals): (row: Row) => unknown {
  const columns = fields.map(({ path, field }) => {
    const [name, inner] = path
    if (path.length > 2 || (inner && is(field, Column) && joins[getTableName(field.table)] === false)) {
      throw new TypeError(`A query cannot return ${path.join('.')}: select it as a field of its own`)
    }
    return { name, inner, decoder: decoderOf(field) }
  })
  return (row) => {
    const result: Record<string, unknown> = {}
    for (let i = 0; i < columns.length; i++) {
      const { name, inner, decoder } = columns[i]
      const value = row[i] === null ? null : decoder.mapFromDriverValue(row[i])
      if (inner === undefined) result[name] = value
      else result[name] = { ...result[name] as object, [inner]: value }
    }
    return result
  }
}

function decoderOf(field: unknown): DriverValueDecoder<unknown, unknown> {
  if (is(field, Column)) return field
  const expression = is(field, SQL.Aliased) ? field.sql : is(field, Subquery) ? field._.sql : field
  return (expression as { decoder: DriverValueDecoder<unknown, unknown> }).decoder
}

/** The native driver ends the process when it gets an object, and one `undefined` would fail a whole group. */
function checkedValue(value: InValue): InValue {
  if (value === undefined || (typeof value === 'object' && value !== null)) {
    throw new TypeError(`The database takes no ${typeof value} as a value`)
  }
  return value
}

/** Runs prepared queries and binds prepared statements for one account. */
export class AccountBinding extends AccountDb {
  readonly #isTraffic: boolean

  constructor(db: SqlDb, accountId: string, isTraffic = false) {
    super(db.client, db.inspect, accountId, isTraffic)
    this.#isTraffic = isTraffic
  }

  override all<Result>(
    query: PreparedQuery<Result> | SqlQuery<Result>,
    values: Values = {},
  ): Promise<Result[]> {
    return query instanceof SqlQuery ? super.all(query, values) : runQuery(query, values, this.accountId)
  }

  override async one<Result>(
    query: PreparedQuery<Result> | SqlQuery<Result>,
    values: Values = {},
  ): Promise<Result | undefined> {
    return (await this.all(query, values))[0]
  }

  override bind<Result>(query: Query | SqlQuery<Result>, values: Values = {}): Statement {
    if (query instanceof SqlQuery) return super.bind(query, values)
    return { ...bind(query, values, this.accountId), isTraffic: this.#isTraffic }
  }
}
