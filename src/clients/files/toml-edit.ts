/** A table in a TOML file of others: a marked block at its end. */
import { parse } from 'smol-toml'
import {
  type Entry,
  FileRefusedError,
  hashOfValue,
  insertAll,
  type Insertion,
  type Json,
  placeName,
  type WrittenEntry,
} from './written-file.ts'

const begin = '# >>> agent-grid: "agent-grid disconnect" removes this block'
const end = '# <<< agent-grid'

/** The table to put in. */
export interface Table extends Pick<Entry, 'container'> {
  name: string
  /** With its headers. */
  table: string
}

/** Put a table at the end of a file. Fails with `FileRefusedError`. */
export function putTable(path: string, text: string, { table, container, name }: Table) {
  const before = parseToml(path, text)
  const place = { container, name }
  if (valueAt(before, place) !== undefined) {
    throw new FileRefusedError(
      path,
      `already has [${placeName(place)}], which was not written by "agent-grid connect". Remove or rename it first.`,
    )
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const block = `${begin}\n${table}${end}\n`.replaceAll('\n', eol)
  const gap = text === '' || text === '\ufeff' ? '' : text.endsWith('\n') ? eol : eol + eol
  const insertions: Insertion[] = [{ at: text.length, text: gap + block }]
  const after = parsed(insertAll(text, insertions))
  const value = after && valueAt(after, place)
  if (
    after === undefined || value === undefined ||
    hashOfValue(withoutPlace(after, place)) !== hashOfValue(withoutPlace(before, place))
  ) {
    throw cannotAppend(path, place)
  }
  const entry: WrittenEntry = { ...place, hash: hashOfValue(value), made: 0, comma: false }
  return { insertions, entry }
}

/** Whether the table is in a file as it was written, was changed, or is not there. */
export function tableState(path: string, text: string, entry: WrittenEntry): 'there' | 'changed' | 'gone' {
  const value = valueAt(parseToml(path, text), entry)
  if (value === undefined) return 'gone'
  return hashOfValue(value) === entry.hash ? 'there' : 'changed'
}

/**
 * Take the table out of a file that others have changed since; undefined if that cannot be done safely. Codex puts tables
 * before the line that ends the block, and when it writes its tables again it drops the line that begins it.
 */
export function takeTable(path: string, text: string, entry: WrittenEntry, written: string): string | undefined {
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const expected = hashOfValue(withoutPlace(parseToml(path, text), entry))
  const isSafe = (rest: string) => {
    const value = parsed(rest)
    return value !== undefined && valueAt(value, entry) === undefined &&
      hashOfValue(withoutPlace(value, entry)) === expected
  }
  const block = withoutBlock(text, written, eol)
  if (block !== undefined && isSafe(block)) return block
  const sections = withoutSections(text, entry, eol)
  return isSafe(sections) ? sections : undefined
}

/** Without the lines of the block as they were written, and the white space that was put before it. */
function withoutBlock(text: string, written: string, eol: string): string | undefined {
  const lines = written.trimStart().replaceAll('\r\n', '\n').split('\n').slice(0, -2)
  const body = lines.join(eol) + eol
  const at = text.indexOf(body)
  if (at < 0) return undefined
  let from = at
  if (text.slice(0, from).endsWith(eol + eol)) from -= eol.length
  const rest = text.slice(at + body.length)
  const isAtEnd = rest.replace(end, '').trim() === ''
  // The file had no line break at its end.
  const hadBreak = !/^(\r?\n){2}/.test(written)
  if (isAtEnd && !hadBreak && text.slice(0, from).endsWith(eol)) from -= eol.length
  return text.slice(0, from) + withoutEnd(rest, eol)
}

/** Without the sections of the table and of the tables in it, wherever they are. */
function withoutSections(text: string, { container, name }: WrittenEntry, eol: string): string {
  const names = [...container, name!].map((key) => `\\s*"?${key.replace(/[^\w-]/g, '\\$&')}"?\\s*`).join('\\.')
  const own = new RegExp(`^\\s*\\[${names}[.\\]]`)
  let isOwn = false
  const kept = text.split(/(?<=\n)/).filter((line) => {
    if (/^\s*\[/.test(line)) isOwn = own.test(line)
    return !isOwn && ![begin, end].includes(line.trim())
  }).join('')
  // It was the last, and an empty line had been put before it.
  return isOwn && kept.endsWith(eol + eol) ? kept.slice(0, -eol.length) : kept
}

function withoutEnd(text: string, eol: string): string {
  const at = text.indexOf(end)
  if (at < 0) return text
  const rest = text.slice(at + end.length)
  return text.slice(0, at) + (rest.startsWith(eol) ? rest.slice(eol.length) : rest)
}

function parseToml(path: string, text: string): Json {
  try {
    return parseAll(text)
  } catch (error) {
    const { line, column } = error as { line?: number; column?: number }
    const where = line === undefined ? '' : ` at line ${line}, column ${column}`
    throw new FileRefusedError(path, `is no valid TOML${where}. Nothing was changed; mend it first.`)
  }
}

/** Undefined if the text is no TOML. */
function parsed(text: string): Json | undefined {
  try {
    return parseAll(text)
  } catch {
    return undefined
  }
}

function parseAll(text: string): Json {
  return plain(parse(text.replace(/^\ufeff/, ''), { integersAsBigInt: true }))
}

function cannotAppend(path: string, place: Pick<Entry, 'container' | 'name'>): FileRefusedError {
  return new FileRefusedError(
    path,
    `is laid out so that [${placeName(place)}] cannot be added at its end: ${place.container[0]} is one value. ` +
      'Make it a table, or add the entry by hand.',
  )
}

/** Numbers that JSON has not, and dates, as text. */
function plain(value: unknown): Json {
  return JSON.parse(
    JSON.stringify(
      value,
      (_, member) =>
        typeof member === 'bigint' || typeof member === 'number' && !Number.isFinite(member) ? String(member) : member,
    ),
  )
}

function valueAt(value: Json, { container, name }: Pick<Entry, 'container' | 'name'>): Json | undefined {
  return [...container, name!].reduce<Json | undefined>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null && Object.hasOwn(inner, key)
        ? (inner as { [name: string]: Json })[key]
        : undefined,
    value,
  )
}

/** A copy without one value. Containers that are empty then go too, because the block may have made them. */
function withoutPlace(value: Json, { container, name }: Pick<Entry, 'container' | 'name'>): Json {
  const copy = structuredClone(value)
  const names = [...container, name!]
  for (let depth = names.length; depth > 0; depth--) {
    const parent = names.slice(0, depth - 1).reduce<Json | undefined>(
      (inner, key) => (inner as { [name: string]: Json } | undefined)?.[key],
      copy,
    ) as { [name: string]: Json } | undefined
    if (parent === undefined) continue
    const own = parent[names[depth - 1]]
    if (depth === names.length || (own && Object.keys(own).length === 0)) delete parent[names[depth - 1]]
  }
  return copy
}
