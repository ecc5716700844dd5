/**
 * Our entries in other programs' JSON and TOML files. Values are added and removed one by one, so other programs' text
 * between them stays.
 */
import { putEntry, readValue, takeEmpty, takeEntry } from './json-edit.ts'
import { putKey, readToml, takeEmptyTable, takeKey } from './toml-edit.ts'
import {
  type Entry,
  type EntryState,
  FileRefusedError,
  hashOfValue,
  insertAll,
  type Json,
  placeName,
  type Put,
  stateOf,
  valueAt,
  type WantedEntries,
  withEntry,
  type WrittenEntry,
  type WrittenFile,
} from './written-file.ts'

const editors = {
  json: { read: readValue, put: putEntry, take: takeEntry, takeEmpty },
  toml: { read: readToml, put: putKey, take: takeKey, takeEmpty: takeEmptyTable },
}

type Format = keyof typeof editors

export interface PutAll extends Put {
  next: string
  /** The entries that existed before and the added entries. */
  entries: WrittenEntry[]
  /** Optional entries that were not added because another value exists, as dotted keys. */
  skipped: string[]
}

export function statesOf(format: Format, path: string, text: string, entries: readonly WrittenEntry[]): EntryState[] {
  const file = editors[format].read(path, text)
  return entries.map((entry) => stateOf(file, entry))
}

/** Whether a file contains all wanted entries, and none of our other entries. */
export function hasAll(wanted: WantedEntries, written: readonly WrittenEntry[], text: string): boolean {
  const file = editors[wanted.format].read(wanted.path, text)
  const isThere = (entry: Entry) => {
    const state = stateOf(file, writtenEntry(entry))
    if (entry.isOptional) return state !== 'gone'
    return state === 'there' && written.some((one) => isSame(one, writtenEntry(entry)))
  }
  return wanted.entries.every(isThere) && written.every((entry) => isIn(wanted.entries, entry))
}

/**
 * Adds the wanted entries to a text that already contains the entries in `kept`. Fails with `FileRefusedError` if a
 * required entry has another value.
 */
export function putEntries(
  wanted: WantedEntries,
  text: string | undefined,
  { kept, isFirst }: { kept: readonly WrittenEntry[]; isFirst: boolean },
): PutAll {
  const { path, format, base, table } = wanted
  const { read } = editors[format]
  const all: PutAll = { next: text ?? '', insertions: [], entries: [...kept], made: [], skipped: [] }
  if (base && all.next.trim() === '') {
    add(all, { insertions: [{ at: 0, text: `${JSON.stringify(base, null, 2)}\n` }], made: [] })
  }
  if (isFirst && table && valueAt(read(path, all.next), table) !== undefined) throw foreignEntry(path, table)
  for (const entry of wanted.entries) {
    const written = writtenEntry(entry)
    if (kept.some((one) => isSame(one, written))) continue
    const state = stateOf(read(path, all.next), written)
    if (entry.isOptional && state !== 'gone') {
      if (state === 'changed') all.skipped.push(placeName(entry))
      continue
    }
    if (state === 'changed') throw foreignEntry(path, [...entry.container, entry.name!])
    try {
      // An existing entry with the same value counts as ours, for example after `connections.json` was lost.
      if (state === 'gone') add(all, putSafely(wanted, all.next, entry))
    } catch (error) {
      if (!entry.isOptional) throw error
      all.skipped.push(placeName(entry))
      continue
    }
    all.entries.push(written)
  }
  return all
}

/** Removes our entries from a text, except the wanted ones. */
export function takeEntries(
  { path, format, made = [], table, entries }: WrittenFile,
  current: string,
  wanted: readonly Entry[],
): { text: string; kept: WrittenEntry[]; left: string[] } {
  const { read, take, takeEmpty } = editors[format as Format]
  const file = read(path, current)
  const isState = (state: EntryState) => (entry: WrittenEntry) => stateOf(file, entry) === state
  const isInTable = ({ container }: WrittenEntry) => table?.every((name, n) => container[n] === name) ?? false
  const kept = entries.filter(isState('there')).filter((entry) => isIn(wanted, entry))
  const changed = entries.filter(isState('changed')).filter(({ isOptional }) => !isOptional)
  // Clients do not start with a partial table, so the table stays or is removed as a unit, including others' entries.
  const whole = { container: table?.slice(0, -1) ?? [], name: table?.at(-1), hash: '' }
  const isWhole = table !== undefined && wanted.length === 0 && valueAt(file, table) !== undefined
  const isLeft = isWhole && changed.some(isInTable)
  const left = [...new Set(changed.map((entry) => placeName(isLeft && isInTable(entry) ? whole : entry)))]
  let text = current
  const takeOne = (entry: WrittenEntry) => {
    const rest = take(path, text, entry)
    if (rest === undefined) left.push(placeName(entry))
    else text = rest
  }
  if (isWhole && !isLeft) takeOne(whole)
  for (const entry of entries.toReversed()) {
    const stays = kept.includes(entry) || isWhole && isInTable(entry)
    if (!stays && stateOf(read(path, text), entry) === 'there') takeOne(entry)
  }
  for (const container of made.toSorted((a, b) => b.length - a.length)) {
    if (isEmptyObject(valueAt(read(path, text), container))) text = takeEmpty(path, text, container)
  }
  return { text, kept, left }
}

function add(all: PutAll, { insertions, made }: Put): void {
  all.next = insertAll(all.next, insertions)
  all.insertions.push(...insertions)
  all.made.push(...made)
}

/** Adds an entry. Verifies that the file then contains its previous values plus the new one. */
function putSafely({ path, format, table = [] }: WantedEntries, text: string, entry: Entry): Put {
  const { put, read } = editors[format]
  const done = put(path, text, entry, table)
  const expected = hashOfValue(withEntry(read(path, text), entry))
  if (hashOf(() => read(path, insertAll(text, done.insertions))) === expected) return done
  const place = placeName(entry)
  throw new FileRefusedError(path, `is laid out in a way that cannot be edited safely. Add ${place} by hand.`)
}

function hashOf(read: () => Json | undefined): string | undefined {
  try {
    return hashOfValue(read())
  } catch {
    return undefined
  }
}

function foreignEntry(path: string, place: string[]): FileRefusedError {
  const reason = 'which was not written by "agent-grid connect". Remove or rename it first.'
  return new FileRefusedError(path, `already has ${place.join('.')}, ${reason}`)
}

function writtenEntry({ container, name, value, isOptional }: Entry): WrittenEntry {
  return { container, name, hash: hashOfValue(value), ...(isOptional && { isOptional }) }
}

function isSame(a: WrittenEntry, b: WrittenEntry): boolean {
  return placeName(a) === placeName(b) && a.hash === b.hash
}

function isIn(wanted: readonly Entry[], entry: WrittenEntry): boolean {
  return wanted.some((one) => isSame(writtenEntry(one), entry))
}

/** Whether a value is an empty object or an empty list. */
function isEmptyObject(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}
