/** A table in a TOML file of others: a marked block at its end. */
import { parse } from 'smol-toml'
import {
  type Entry,
  type EntryState,
  FileRefusedError,
  hashOfValue,
  insertAll,
  type Json,
  placeName,
  type Put,
  type WrittenEntry,
} from './written-file.ts'

type Place = Pick<Entry, 'container' | 'name'>

const begin = '# >>> agent-grid: "agent-grid disconnect" removes this block'
const end = '# <<< agent-grid'

/** Put a table at the end of a file. Fails with `FileRefusedError`. */
export function putTable(path: string, text: string, { container, name, value }: Entry): Put {
  const place = { container, name }
  const before = parseFile(path, text)
  if (valueAt(before, place) !== undefined) {
    throw new FileRefusedError(
      path,
      `already has [${placeName(place)}], which was not written by "agent-grid connect". Remove or rename it first.`,
    )
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const lines = Object.entries(value as object).map(([key, member]) => `${key} = ${inline(member)}`)
  const block = [begin, `[${placeName(place)}]`, ...lines, end, ''].join(eol)
  const gap = text === '' || text === '\ufeff' ? '' : text.endsWith('\n') ? eol : eol + eol
  const insertions = [{ at: text.length, text: gap + block }]
  const after = parsed(insertAll(text, insertions))
  const isSafe = after !== undefined && hashOfValue(valueAt(after, place) ?? null) === hashOfValue(value) &&
    restOf(after, place) === restOf(before, place)
  if (isSafe) return { insertions, entry: { ...place, hash: hashOfValue(value), made: 0 } }
  throw new FileRefusedError(
    path,
    `is laid out so that [${placeName(place)}] cannot be added at its end: ${container[0]} is one value. ` +
      'Make it a table, or add the entry by hand.',
  )
}

export function tableState(path: string, text: string, entry: WrittenEntry): EntryState {
  const value = valueAt(parseFile(path, text), entry)
  if (value === undefined) return 'gone'
  return hashOfValue(value) === entry.hash ? 'there' : 'changed'
}

/**
 * Take the table, the tables in it and the marks out of a file that others have changed since; undefined if that cannot be
 * done safely. Codex puts tables before the line that ends the block, and when it writes its tables again it drops the
 * line that begins it.
 */
export function takeTable(path: string, text: string, entry: WrittenEntry): string | undefined {
  const names = [...entry.container, entry.name!].map((key) => `\\s*"?${key.replace(/[^\w-]/g, '\\$&')}"?\\s*`)
  const own = new RegExp(`^\\s*\\[${names.join('\\.')}[.\\]]`)
  const kept: string[] = []
  let isOwn = false
  for (const line of text.split(/(?<=\n)/)) {
    const mark = [begin, end].find((mark) => mark === line.trim())
    if (/^\s*\[/.test(line)) isOwn = own.test(line)
    else if (mark === end) isOwn = false
    // An empty line had been put before it.
    if (mark === begin && kept.at(-1)?.trim() === '') kept.pop()
    if (!isOwn && mark === undefined) kept.push(line)
  }
  if (isOwn && kept.at(-1)?.trim() === '') kept.pop()
  const rest = kept.join('')
  const value = parsed(rest)
  const isSafe = value !== undefined && valueAt(value, entry) === undefined &&
    restOf(value, entry) === restOf(parseFile(path, text), entry)
  return isSafe ? rest : undefined
}

/** A text, or a table of texts. */
function inline(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value).map(([key, member]) => `${key} = ${inline(member)}`).join(', ')} }`
}

function parseFile(path: string, text: string): Json {
  try {
    return parseAll(text)
  } catch (error) {
    const { line, column } = error as { line?: number; column?: number }
    const where = line === undefined ? '' : ` at line ${line}, column ${column}`
    throw new FileRefusedError(path, `is not valid TOML${where}. Nothing was changed; mend it first.`)
  }
}

function parsed(text: string): Json | undefined {
  try {
    return parseAll(text)
  } catch {
    return undefined
  }
}

/** Numbers that JSON has not, and dates, become text. */
function parseAll(text: string): Json {
  const value = parse(text.replace(/^\ufeff/, ''), { integersAsBigInt: true })
  return JSON.parse(
    JSON.stringify(value, (_, member) => {
      const isText = typeof member === 'bigint' || typeof member === 'number' && !Number.isFinite(member)
      return isText ? String(member) : member
    }),
  )
}

function valueAt(value: Json, { container, name }: Place): Json | undefined {
  return [...container, name!].reduce<Json | undefined>((inner, key) => {
    const isTable = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
    return isTable ? (inner as { [name: string]: Json })[key] : undefined
  }, value)
}

/** The hash of all but one value. Containers that are empty then are left out too, because the block may make them. */
function restOf(value: Json, { container, name }: Place): string {
  const without = (inner: Json, [key, ...names]: string[]): Json => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, key)) return inner
    const { [key]: own, ...others } = inner as { [name: string]: Json }
    const rest = names.length === 0 ? {} : without(own, names)
    const isEmpty = typeof rest === 'object' && rest !== null && Object.keys(rest).length === 0
    return isEmpty ? others : { ...others, [key]: rest }
  }
  return hashOfValue(without(value, [...container, name!]))
}
