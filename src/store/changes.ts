/**
 * What statements change and what queries read, taken from their SQL, so that nothing has to be declared. What is not
 * understood counts as everything.
 */
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import * as schema from '../../db/schema.ts'

/** What a statement changes. An INSERT that may change rows which are there already is a `replace`. */
export interface Change {
  kind: 'insert' | 'replace' | 'update' | 'delete'
  table: string
  /** The columns that an UPDATE sets; undefined if they are unknown, and for the other kinds. */
  columns?: readonly string[]
}

/** The columns of each table that a query names. */
export type ReadColumns = ReadonlyMap<string, ReadonlySet<string>>

/** The columns of every table of the schema. */
const columnsOf = new Map<string, ReadonlySet<string>>(
  Object.values(schema).filter((table) => is(table, SQLiteTable)).map((table) =>
    [getTableName(table), new Set(Object.values(getTableColumns(table)).map(({ name }) => name))] as const
  ),
)

const verbs = new Set(['select', 'insert', 'replace', 'update', 'delete'])
const endsOfSet = new Set(['from', 'where', 'returning', 'order', 'limit'])

/** What a statement changes: `nothing` for a query, and `unknown` for any other statement that is no INSERT, UPDATE or DELETE. */
export function changeOf(sql: string): Change | 'nothing' | 'unknown' {
  const tokens = outerTokens(sql)
  const first = tokens[0]?.toLowerCase()
  const at = first === 'with' ? tokens.findIndex((token) => verbs.has(token.toLowerCase())) : 0
  const words = tokens.slice(at).map((token) => token.toLowerCase())
  switch (words[0]) {
    case 'select':
      return 'nothing'
    case 'insert':
    case 'replace': {
      const replaces = words[0] === 'replace' || words[2] === 'replace' || isUpsert(words)
      return named(replaces ? 'replace' : 'insert', words[words.indexOf('into') + 1])
    }
    case 'update': {
      const change = named('update', words[words[1] === 'or' ? 3 : 1])
      return change === 'unknown' ? change : { ...change, columns: setColumns(words.slice(words.indexOf('set') + 1)) }
    }
    case 'delete':
      return named('delete', words[words.indexOf('from') + 1])
    default:
      return 'unknown'
  }
}

/** The tables of the schema that a query names, with their columns. An unqualified column counts for all of them. */
export function readColumns(sql: string): ReadColumns {
  const tokens = tokensOf(sql).map((token) => bare(token.toLowerCase()))
  const read = new Map<string, Set<string>>()
  for (const token of tokens) if (columnsOf.has(token)) read.set(token, new Set())
  tokens.forEach((token, at) => {
    const qualifier = tokens[at - 1] === '.' ? tokens[at - 2] : ''
    for (const [table, columns] of read) {
      const isOther = qualifier !== table && columnsOf.has(qualifier)
      if (!isOther && columnsOf.get(table)!.has(token)) columns.add(token)
    }
  })
  return read
}

function named(kind: Change['kind'], table: string | undefined): Change | 'unknown' {
  const name = bare(table ?? '')
  return columnsOf.has(name) ? { kind, table: name } : 'unknown'
}

function isUpsert(words: string[]): boolean {
  return words.some((word, at) => word === 'do' && words[at + 1] === 'update')
}

/** The names before the `=` of each assignment; undefined for a list of columns in brackets. */
function setColumns(words: string[]): string[] | undefined {
  const columns: string[] = []
  let isName = true
  for (const word of words) {
    if (endsOfSet.has(word)) break
    if (isName && word === '()') return undefined
    if (isName) columns.push(bare(word))
    isName = word === ','
  }
  return columns
}

/** The tokens outside of brackets. A bracket is one token, `()`. */
function outerTokens(sql: string): string[] {
  const outer: string[] = []
  let depth = 0
  for (const token of tokensOf(sql)) {
    if (token === ')') depth--
    else if (depth === 0) outer.push(token === '(' ? '()' : token)
    if (token === '(') depth++
  }
  return outer
}

function tokensOf(sql: string): string[] {
  return sql.match(/'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\w+|[^\s\w]/g) ?? []
}

function bare(token: string): string {
  return token.replace(/^["`]|["`]$/g, '')
}
