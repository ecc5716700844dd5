/** Adds and removes keys in other programs' TOML files, by complete lines. Everything else stays. */
import { parse } from 'smol-toml'
import {
  type Entry,
  FileRefusedError,
  hashOfValue,
  type Json,
  type Put,
  valueAt,
  type WrittenEntry,
} from './written-file.ts'

/** A table header, or a key with its value. */
interface Statement {
  /** The full path of the defined table or key. */
  path: string[]
  isHead: boolean
  /** The statement's lines, from `start` up to but excluding `end`. */
  start: number
  end: number
}

/** A file's value. Dates, and numbers that JSON cannot represent, become text. Fails with `FileRefusedError`. */
export function readToml(path: string, text: string): Json {
  try {
    return toJson(parse(withoutMark(text), { integersAsBigInt: true }))
  } catch (error) {
    const { line, column } = error as { line?: number; column?: number }
    const where = line === undefined ? '' : ` at line ${line}, column ${column}`
    throw new FileRefusedError(path, `is not valid TOML${where}. Nothing was changed; fix it first.`)
  }
}

/** Adds a key below the nearest header of its table, or below a new header at the end of the file. */
export function putKey(_path: string, text: string, { container, name, value }: Entry, table: string[]): Put {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const statements = statementsOf(text)
  const heads = statements.filter(({ path, isHead }) => isHead && isBelow(container, path) && isBelow(path, table))
  const head = heads.toSorted((a, b) => b.path.length - a.path.length).at(0)
  const key = [...container.slice((head?.path ?? table).length), name!]
  const line = `${dotted(key)} = ${JSON.stringify(value)}`
  if (head === undefined) {
    const gap = text === '' || text === '\ufeff' ? '' : text.endsWith('\n') ? eol : eol + eol
    const insertion = { at: text.length, text: `${gap}[${dotted(table)}]${eol}${line}${eol}` }
    const isNew = valueAt(readToml('', text), table) === undefined
    return { insertions: [insertion], made: isNew ? [table] : [] }
  }
  const next = statements.find(({ isHead, start }) => isHead && start > head.start)
  const last = statements.findLast(({ start }) => start < (next?.start ?? Infinity))!
  const before = linesOf(text).slice(0, last.end).join('')
  const insertion = before.endsWith('\n') ? `${line}${eol}` : `${eol}${line}`
  return { insertions: [{ at: before.length, text: insertion }], made: [] }
}

/** Removes a key, or a table with its subtables. Undefined if other keys share their lines. */
export function takeKey(path: string, text: string, { container, name }: WrittenEntry): string | undefined {
  const own = [...container, name!]
  const lines = linesOf(text)
  const taken = statementsOf(text).filter((statement) => isBelow(statement.path, own))
  for (const { isHead, start, end } of taken.toReversed()) {
    // The empty line before a table header is removed too.
    const from = isHead && lines[start - 1]?.trim() === '' ? start - 1 : start
    lines.splice(from, end - from)
  }
  const rest = lines.join('')
  try {
    const [before, after] = [readToml(path, text), readToml(path, rest)]
    const isSafe = valueAt(after, own) === undefined && restOf(after, own) === restOf(before, own)
    return isSafe ? rest : undefined
  } catch {
    return undefined
  }
}

/** Removes the header of a table without keys. */
export function takeEmptyTable(path: string, text: string, table: readonly string[]): string {
  return takeKey(path, text, { container: table.slice(0, -1), name: table.at(-1), hash: '' }) ?? text
}

/** The statements of a text. Lines are collected until they can be parsed, as a statement may have several lines. */
function statementsOf(text: string): Statement[] {
  const statements: Statement[] = []
  const lines = linesOf(withoutMark(text))
  let table: string[] = []
  let chunk = ''
  let start = 0
  for (const [n, line] of lines.entries()) {
    if (chunk === '') start = n
    chunk += line
    const value = parsed(chunk)
    if (value === undefined) continue
    const isHead = /^\s*\[/.test(chunk)
    const names = namesIn(value)
    if (isHead) table = names
    if (names.length > 0) statements.push({ path: isHead ? names : [...table, ...names], isHead, start, end: n + 1 })
    chunk = ''
  }
  return statements
}

/** The path of the only key in a parsed statement. */
function namesIn(value: Json): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  const names = Object.keys(value)
  return names.length === 1 ? [names[0], ...namesIn(value[names[0]])] : []
}

function isBelow(path: readonly string[], top: readonly string[]): boolean {
  return top.every((name, n) => path[n] === name)
}

function dotted(names: readonly string[]): string {
  return names.map((name) => /^[\w-]+$/.test(name) ? name : JSON.stringify(name)).join('.')
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/)
}

function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, '')
}

function parsed(text: string): Json | undefined {
  try {
    return toJson(parse(text, { integersAsBigInt: true }))
  } catch {
    return undefined
  }
}

function toJson(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(value, (_, member) => {
      if (typeof member === 'bigint') return Number.isSafeInteger(Number(member)) ? Number(member) : String(member)
      return typeof member === 'number' && !Number.isFinite(member) ? String(member) : member
    }),
  )
}

/** The hash of all values except the one at `path`. Omits empty tables, which may have been created for that value. */
function restOf(value: Json, path: readonly string[]): string {
  const without = (inner: Json, [key, ...names]: readonly string[]): Json => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return inner
    const { [key]: own, ...others } = inner as { [name: string]: Json }
    const rest = names.length === 0 ? {} : without(own, names)
    const isEmpty = typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0
    return isEmpty ? others : { ...others, [key]: rest }
  }
  return hashOfValue(without(value, path))
}
