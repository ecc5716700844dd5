import { createHash } from 'node:crypto'
import { canonicalJson } from '../../lib/encoding.ts'
import { ClientError } from '../grid-call.ts'

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

export interface Entry {
  /** The path of the object or array that contains the value. Missing objects are created. */
  container: string[]
  /** The value's name in an object. A value without a name becomes the last element of an array. */
  name?: string
  value: Json
  /** Whether an existing value with this name stays, and is not recorded as ours. */
  isOptional?: true
}

interface WantedPath {
  path: string
  /** Whether the file contains a key, so that only the user may read it. */
  hasKey?: true
}

/** Another program's file that gets our entries. */
export interface WantedEntries extends WantedPath {
  format: 'json' | 'toml'
  entries: Entry[]
  /** The initial content of a new file, such as a version number. */
  base?: { [name: string]: Json }
  /** The path of an object that is useless without our entries, and is removed with them, including others' entries. */
  table?: string[]
}

/** A file to write. Format `own`: only this program writes the file. */
export type WantedFile = WantedEntries | WantedPath & { format: 'own'; text: string }

/** An inserted piece of text. Insertions never replace text. */
export interface Insertion {
  /** Offset in UTF-16 units, in the text before the insertion. */
  at: number
  text: string
}

/** A value in a JSON or TOML file, as it was written. */
export interface WrittenEntry extends Pick<Entry, 'container' | 'name' | 'isOptional'> {
  /** SHA-256 of the value's canonical JSON. */
  hash: string
}

/** The text that adds an entry, and the paths of the created containers. `[]` is the root container. */
export interface Put {
  insertions: Insertion[]
  made: string[][]
}

export type EntryState = 'there' | 'changed' | 'gone'

export interface WrittenFile {
  /** The path as the client names it. A symbolic link stays a link. */
  path: string
  format: WantedFile['format']
  /** SHA-256 of the file's bytes before the change; null if there was no file. */
  before: string | null
  /** SHA-256 of the file's bytes after the change. */
  after: string
  /** Folders that were created for the file, outermost first. They are removed with the file if they are empty. */
  folders: string[]
  /** The file's previous permissions, if they were restricted because the file now contains a key. */
  mode?: number
  insertions: Insertion[]
  /** The hash of a new file's initial content. If nothing else remains, the file is removed. */
  base?: string
  /** Our entries; empty for a separate file. */
  entries: WrittenEntry[]
  /** The containers that were created. They are removed once they are empty. */
  made?: string[][]
  /** The wanted `table`. It is removed with all entries that others added, unless others changed our entries. */
  table?: string[]
}

/** The error of a file that cannot be edited. The message explains why, and what the person can do. */
export class FileRefusedError extends ClientError {
  constructor(path: string, reason: string) {
    super('file_refused', `${path} ${reason}`)
  }
}

/** The hash of a value, independent of member order. */
export function hashOfValue(value: unknown): string {
  return hashOfText(canonicalJson(value))
}

export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function insertAll(text: string, insertions: readonly Insertion[]): string {
  return insertions.reduce((before, { at, text }) => before.slice(0, at) + text + before.slice(at), text)
}

/** Removes the insertions; undefined if the text at their positions differs. */
export function takeOut(text: string, insertions: readonly Insertion[]): string | undefined {
  let rest = text
  for (const { at, text: piece } of insertions.toReversed()) {
    if (rest.slice(at, at + piece.length) !== piece) return undefined
    rest = rest.slice(0, at) + rest.slice(at + piece.length)
  }
  return rest
}

/** A value's leaf values. This program owns only the leaves, not the objects around them. */
export function leavesOf(path: string[], value: Json): Entry[] {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return Object.entries(value).flatMap(([name, member]) => leavesOf([...path, name], member))
  }
  return [{ container: path.slice(0, -1), name: path.at(-1), value }]
}

export function valueAt(value: Json | undefined, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inner, name) => {
    const isThere = typeof inner === 'object' && inner !== null && Object.hasOwn(inner, name)
    return isThere ? (inner as { [name: string]: Json })[name] : undefined
  }, value)
}

/** Returns whether an entry is in a file's value, has a different value there, or is missing. */
export function stateOf(file: Json | undefined, { container, name, hash }: WrittenEntry): EntryState {
  const value = valueAt(file, name === undefined ? container : [...container, name])
  if (name === undefined) {
    return Array.isArray(value) && value.some((one) => hashOfValue(one) === hash) ? 'there' : 'gone'
  }
  if (value === undefined) return 'gone'
  return hashOfValue(value) === hash ? 'there' : 'changed'
}

/** A file's value with one more entry. */
export function withEntry(value: Json | undefined, { container, name, value: added }: Entry): Json {
  const [first, ...rest] = container
  if (first === undefined && name === undefined) return [...(value as Json[] ?? []), added]
  const members = (value ?? {}) as { [name: string]: Json }
  if (first === undefined) return { ...members, [name!]: added }
  return { ...members, [first]: withEntry(valueAt(members, [first]), { container: rest, name, value: added }) }
}

/** The dotted key of an entry, for messages: `mcpServers.agent-grid`. */
export function placeName({ container, name }: Pick<Entry, 'container' | 'name'>): string {
  return [...container, ...(name === undefined ? [] : [name])].join('.')
}
