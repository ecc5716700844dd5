/**
 * Concurrent queries to a remote database share a request, and queries with the same text share a statement. A server
 * prepares every statement again, which takes longer than running a short one.
 *
 * Each query sees every commit that was acknowledged before its call.
 */
import type { InValue, ResultSet, Value } from '@libsql/client'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { LruMap } from '../../lib/lru-map.ts'
import { type PlainStatement, resultSet, rowClassOf } from './prepared-statement.ts'

interface WaitingQuery extends PlainStatement {
  resolve(result: ResultSet): void
  reject(error: unknown): void
}

interface Step extends PlainStatement {
  /** The positions of the queries that this statement answers: several if it is a set. */
  places: number[]
  columns?: string[]
}

/** Sends statements in one request. */
export type Send = (statements: PlainStatement[]) => Promise<(ResultSet | Error)[]>

const maxTogether = 64
/** Maximum number of known statements. The grid has a few hundred; more would mean texts generated at run time. */
const maxKnown = 500

/** How long a query waits to share the request after a running one, before it uses another stream. */
const patienceMs = 3

export class RemoteQueries {
  /** The streams without a running request. */
  readonly #idle: Send[]
  readonly #streams: number
  /** The names of a query's columns, from one of its results. */
  readonly #columns = new LruMap<string, string[]>(maxKnown)
  #waiting: WaitingQuery[] = []
  #isScheduled = false
  #timer?: ReturnType<typeof setTimeout>

  /** Each stream handles one request at a time. */
  constructor(...streams: Send[]) {
    this.#idle = streams
    this.#streams = streams.length
  }

  execute(statement: PlainStatement): Promise<ResultSet> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...statement, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#idle.length === 0) return
    this.#isScheduled = true
    const run = () => {
      this.#isScheduled = false
      const send = this.#waiting.length > 0 ? this.#idle.pop() : undefined
      if (send) void this.#run(send)
    }
    if (this.#idle.length === this.#streams) setImmediate(run)
    else this.#timer = setTimeout(run, patienceMs)
  }

  async #run(send: Send): Promise<void> {
    while (this.#waiting.length > 0) {
      const queries = this.#waiting.splice(0, maxTogether)
      // The remaining queries should not have to wait for this request.
      if (this.#waiting.length > 0) this.#schedule()
      const results = await this.#results(send, queries, true).catch((error: Error) => queries.map(() => error))
      for (const [i, result] of results.entries()) {
        if (result instanceof Error) queries[i].reject(result)
        else queries[i].resolve(result)
      }
      // Waits one turn of the event loop, so that callers that continue with a query share the next request.
      await new Promise((resolve) => setImmediate(resolve))
    }
    this.#idle.push(send)
    if (this.#idle.length < this.#streams) return
    clearTimeout(this.#timer)
    this.#isScheduled = false
  }

  async #results(send: Send, queries: PlainStatement[], inSets: boolean): Promise<(ResultSet | Error)[]> {
    const steps = withSameText(queries).flatMap((places): Step[] => {
      const columns = this.#columns.get(queries[places[0]].sql)
      const set = inSets && columns && setOf(places.map((i) => queries[i]), columns.length)
      return set ? [{ ...set, places, columns }] : places.map((i) => ({ ...queries[i], places: [i] }))
    })
    const answers = await send(steps)
    const results: (ResultSet | Error)[] = []
    const failed: number[] = []
    for (const [n, { sql, places, columns }] of steps.entries()) {
      const found = columns ? resultsOf(answers[n], columns) : [answers[n]]
      // A failed set (a failed query, a forbidden argument, or too large a result) is sent again as single queries.
      if (!found) failed.push(...places)
      for (const [k, result] of found?.entries() ?? []) results[places[k]] = result
      if (!columns && !(answers[n] instanceof Error)) this.#columns.set(sql, answers[n].columns)
    }
    if (failed.length === 0) return results
    for (const [k, result] of (await this.#results(send, failed.map((i) => queries[i]), false)).entries()) {
      results[failed[k]] = result
    }
    return results
  }
}

function withSameText(queries: PlainStatement[]): number[][] {
  const places = new Map<string, number[]>()
  for (const [i, { sql }] of queries.entries()) {
    const same = places.get(sql)
    if (same) same.push(i)
    else places.set(sql, [i])
  }
  return [...places.values()]
}

/**
 * One statement that replaces several SELECTs that differ only in their arguments, or undefined. It runs the SELECT for
 * each element of a JSON array of their arguments, and returns one JSON text of rows for each. So each query keeps its
 * conditions, including its account.
 */
function setOf(queries: PlainStatement[], columns: number): PlainStatement | undefined {
  const [{ sql, args: first }, ...others] = queries
  if (others.length === 0 || !/^select\b/i.test(sql)) return undefined
  if (!queries.every(({ args }) => args.every(isJsonValue))) return undefined
  const isShared = first.map((value, i) => others.every(({ args }) => args[i] === value))
  // LIMIT and OFFSET cannot refer to a column. The set would fail, and its queries would be sent again.
  const limits = [...sql.matchAll(/\b(?:limit|offset) \?(\d+)/gi)]
  if (limits.some(([, n]) => !isShared[Number(n) - 1])) return undefined
  // Parameter 1 is the list of units.
  let [own, shared] = [0, 2]
  const places = isShared.map((is) => is ? `?${shared++}` : `("units"."unit" ->> ${own++})`)
  const text = sql.replace(/'(?:[^']|'')*'|"[^"]*"|\?(\d+)/g, (token, n?: string) => n ? places[Number(n) - 1] : token)
  const names = Array.from({ length: columns }, (_, i) => `"c${i}"`).join(', ')
  const units = queries.map(({ args }) => args.filter((_, i) => !isShared[i]).map(toJsonValue))
  return {
    sql: `SELECT (WITH "found" (${names}) AS (${text}) SELECT json_group_array(json_array(${names})) FROM "found")
      FROM (SELECT "value" AS "unit" FROM json_each(?1)) AS "units"`,
    args: [JSON.stringify(units), ...first.filter((_, i) => isShared[i])],
  }
}

/** The results of a set's queries; undefined if there are none. */
function resultsOf(answer: ResultSet | Error, columns: string[]): ResultSet[] | undefined {
  if (answer instanceof Error) return undefined
  const SetRow = rowClassOf(columns)
  const found = answer.rows.map((row): Value[][] => JSON.parse(String(row[0])))
  if (found.some((values) => values.some((each) => each.some(isInexact)))) return undefined
  return found.map((values) => resultSet({ columns, rows: values.map((each) => new SetRow(each)) }))
}

/** Whether the value may have been a different integer in the database. */
function isInexact(value: Value): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
}

/** Whether SQLite reads the same value from JSON as from an argument. */
function isJsonValue(value: InValue): boolean {
  if (typeof value === 'string') return !/[\0\p{Surrogate}]/u.test(value)
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || typeof value === 'boolean'
}

function toJsonValue(value: InValue): InValue {
  return typeof value === 'boolean' ? Number(value) : value
}
