/**
 * One statement in place of several that differ only in their arguments. A server prepares every statement anew, and for
 * a short one this takes longer than running it.
 *
 * The lists of arguments are passed as one JSON array, and the statement runs for each of its elements, in their order.
 * A query returns one JSON text of rows for each element. So the conditions of a statement are those of its own
 * arguments, its account too.
 */
import type { InValue, ResultSet, Row, Value } from '@libsql/client'
import { tablesWithoutRowid } from '../../../db/schema.ts'
import { RecentMap } from '../../lib/recent-map.ts'
import { rowClassOf } from './row-class.ts'

/** A statement with its arguments. */
export interface PlainStatement {
  sql: string
  args: InValue[]
}

/** A statement for the server. */
export interface Step {
  sql: string
  args: InValue[]
  /** The places of the statements that it runs: several if it is a set. */
  of: number[]
  /** The columns of each of the statements of a set. */
  columns?: string[]
}

interface Token {
  text: string
  at: number
  /** How many brackets it is in. */
  depth: number
  /** It is in an ORDER BY, LIMIT or ON CONFLICT, which cannot name the table of the units. */
  isFixed: boolean
}

/** Table and column with one list of arguments in each row. Their names occur in no statement. */
const units = '(SELECT "value" AS "unit" FROM json_each(?1)) AS "units"'
/** Clauses that say something about all rows of a statement together. */
const aboutAllRows = new Set([
  'group',
  'order',
  'limit',
  'union',
  'except',
  'intersect',
  'distinct',
  'returning',
  'with',
])
/** How many texts are known. The grid has some hundred statements; more would be texts made at run time. */
const maxKnown = 500

/** The statements of one server, and what is known of them. */
export class StatementSets {
  /** The names of the columns that a statement returns, from a result of it. Before that it is not part of a set. */
  readonly #columns = new RecentMap<string, string[]>(maxKnown)
  /** The texts of sets; undefined for a statement that cannot be one. */
  readonly #texts = new RecentMap<string, { text: string | undefined }>(maxKnown)

  /**
   * The steps that run `statements`, one of `groups` after the other. A group has the places of statements with the same
   * text that may run as a set: none of them changes what another one reads or changes.
   */
  stepsOf(statements: readonly PlainStatement[], groups: readonly number[][]): Step[] {
    return groups.flatMap((of) => {
      const set = of.length > 1 ? this.#set(statements[of[0]].sql, of.map((i) => statements[i].args)) : undefined
      return set ? [{ ...set, of }] : of.map((i) => ({ ...statements[i], of: [i] }))
    })
  }

  /** The results of the statements that a step ran. How many rows a set changed is not known of each, and is 0. */
  resultsOf({ sql, of, columns }: Step, result: ResultSet): ResultSet[] {
    if (!columns) {
      if (!this.#columns.get(sql)) this.#columns.set(sql, result.columns)
      return [result]
    }
    if (columns.length === 0) return of.map(() => resultSet(columns, []))
    const SetRow = rowClassOf(columns)
    return result.rows.map((row) => {
      const values: Value[][] = JSON.parse(String(row[0]))
      if (values.some((each) => each.some(isInexact))) throw new RangeError('A number is too large for JavaScript')
      return resultSet(columns, values.map((each) => new SetRow(each)))
    })
  }

  /** One statement for several lists of arguments; undefined if there is none. */
  #set(sql: string, argsOf: readonly InValue[][]): Omit<Step, 'of'> | undefined {
    const columns = this.#columns.get(sql)
    if (!columns || !argsOf.every((args) => args.every(isJsonValue))) return undefined
    const [first, ...others] = argsOf
    const shared = first.map((value, i) => others.every((args) => args[i] === value))
    const key = `${shared.map(Number).join('')} ${sql}`
    let known = this.#texts.get(key)
    if (!known) this.#texts.set(key, known = { text: setText(sql, columns.length, shared) })
    if (known.text === undefined) return undefined
    const own = argsOf.map((args) => args.filter((_, i) => !shared[i]).map(toJsonValue))
    return { sql: known.text, args: [JSON.stringify(own), ...first.filter((_, i) => shared[i])], columns }
  }
}

/** Whether it may have been another integer in the database. */
function isInexact(value: Value): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
}

function resultSet(columns: string[], rows: Row[]): ResultSet {
  const result = { columns, columnTypes: columns.map(() => ''), rows, rowsAffected: 0, lastInsertRowid: undefined }
  return { ...result, toJSON: () => ({ ...result, rows: rows.map((row) => Array.from(row)) }) }
}

/**
 * The text of a set; undefined if the statement cannot be one. `columns` is how many columns it returns, and `shared`
 * says of each argument whether it is the same in the whole set.
 */
function setText(sql: string, columns: number, shared: readonly boolean[]): string | undefined {
  const tokens = tokensOf(sql)
  const isParameter = ({ text }: Token) => text === '?'
  const parameters = tokens.filter(isParameter)
  if (parameters.length !== shared.length || parameters.some(({ isFixed }, i) => isFixed && !shared[i])) {
    return undefined
  }

  const outer = tokens.filter(({ depth }) => depth === 0)
  const find = (word: string) => outer.find(({ text }) => text.toLowerCase() === word)
  const verb = outer[0].text.toLowerCase()
  if (verb === 'select') {
    const names = Array.from({ length: columns }, (_, i) => `"c${i}"`).join(', ')
    return `SELECT (WITH "found" (${names}) AS (${numbered()}) SELECT json_group_array(json_array(${names})) FROM "found") FROM ${units}`
  }
  if (columns > 0 || outer.some(({ text }) => aboutAllRows.has(text.toLowerCase()))) return undefined
  const [from, where] = [find('from'), find('where')]
  if (!where) return undefined
  // A query in brackets does not see the tables beside it, so it can have only what all units share.
  const isBlind = ({ at }: Token) =>
    outer.some(({ text }, i) =>
      /^(from|join)$/i.test(text) && outer[i + 1]?.text === '(' && outer[i + 1].at < at && at < outer[i + 2].at
    )
  if (verb === 'insert' && parameters.some((parameter, i) => !shared[i] && isBlind(parameter))) return undefined
  if (verb === 'insert' && from && find('select')) return numbered(from.at + 4, ` ${units} CROSS JOIN`)
  if (verb === 'update' && !from) return numbered(where.at, `FROM ${units} `)
  if (verb === 'delete') {
    const table = outer[outer.indexOf(from!) + 1].text
    if (tablesWithoutRowid.includes(table.replaceAll('"', ''))) return undefined
    const rows = `rowid IN (SELECT ${table}.rowid FROM ${units} CROSS JOIN ${table} WHERE`
    return `${numbered(where.at + 5, ` ${rows}`)})`
  }
  return undefined

  /** The text with `more` inserted, and with each parameter replaced by what is shared or what is the unit's own. */
  function numbered(at = 0, more = ''): string {
    let [text, end, own, same] = ['', 0, 0, 2]
    let parameter = 0
    for (const { at: start } of [...parameters, { at: sql.length }]) {
      const piece = sql.slice(end, start)
      text += at >= end && at < start ? piece.slice(0, at - end) + more + piece.slice(at - end) : piece
      if (start < sql.length) text += shared[parameter++] ? `?${same++}` : `("units"."unit" ->> ${own++})`
      end = start + 1
    }
    return text
  }
}

function tokensOf(sql: string): Token[] {
  /** Of each bracket around the token, and of the whole, whether it has come to such a clause. */
  const isFixed = [false]
  return [...sql.matchAll(/'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\w+|[^\s\w]/g)].map(({ 0: text, index: at }) => {
    if (text === ')') isFixed.pop()
    if (/^(order|limit|conflict)$/i.test(text)) isFixed[isFixed.length - 1] = true
    const token = { text, at, depth: isFixed.length - 1, isFixed: isFixed.includes(true) }
    if (text === '(') isFixed.push(false)
    return token
  })
}

/** Whether SQLite reads the same value from JSON as it gets from an argument. */
function isJsonValue(value: InValue): boolean {
  if (typeof value === 'string') return !/[\0\p{Surrogate}]/u.test(value)
  if (typeof value === 'number') return Number.isFinite(value)
  return value === null || typeof value === 'boolean'
}

/** SQLite has no booleans. */
function toJsonValue(value: InValue): InValue {
  return typeof value === 'boolean' ? Number(value) : value
}
