import { createHash } from 'node:crypto'
import { canonicalJson } from '../../lib/encoding.ts'
import { ClientError } from '../grid-call.ts'

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

export interface Entry {
  /** The path of the object or array that the value is added to. Missing objects are created. */
  container: string[]
  /** The value's name in an object; without a name, it becomes the last element of an array. */
  name?: string
  value: Json
  /** An existing value at this place stays, and does not become ours. */
  isOptional?: true
}

interface WantedPath {
  path: string
  /** The file contains a key, so only the user may read it. */
  hasKey?: true
}

/** Another program's file that gets our entries. */
export interface WantedEntries extends WantedPath {
  format: 'json' | 'toml'
  entries: Entry[]
  /** The initial content of a new file, such as its version. */
  base?: { [name: string]: Json }
  /** The path of an object that is meaningless without our entries. What others add to it stays as long as ours. */
  table?: string[]
}

/** Other kinds are files that only this program writes. */
export type WantedFile = WantedEntries | WantedPath & { format: 'own'; text: string }

/** An inserted piece of text that replaced nothing. */
export interface Insertion {
  /** Offset in UTF-16 units, in the text before the insertion. */
  at: number
  text: string
}

/** A value in a JSON or TOML file, as it was written. */
export interface WrittenEntry extends Pick<Entry, 'container' | 'name' | 'isOptional'> {
  /** SHA-256 of its canonical JSON. */
  hash: string
}

/** Text that adds an entry, and the containers that it creates; `[]` is the whole file. */
export interface Put {
  insertions: Insertion[]
  made: string[][]
}

export type EntryState = 'there' | 'changed' | 'gone'

export interface WrittenFile {
  /** As named by the client. If it is a symbolic link, it stays one. */
  path: string
  format: WantedFile['format']
  /** SHA-256 of its bytes before; null if there was no file. */
  before: string | null
  /** SHA-256 of its bytes after. */
  after: string
  /** Folders that were missing, outermost first. They are removed with the file if they are empty then. */
  folders: string[]
  /** The previous permissions, if they were narrowed because the file now contains a key. */
  mode?: number
  insertions: Insertion[]
  /** The hash of a new file's initial content, so that the file is removed if nothing else remains. */
  base?: string
  /** Empty for a separate file. */
  entries: WrittenEntry[]
  /** The containers that were created, which are removed when they are empty. */
  made?: string[][]
  /** The wanted `table`. It is removed with whatever others put into it, unless they changed our entries. */
  table?: string[]
}

/** A file cannot be edited. The message explains why, and what the person can do. */
export class FileRefusedError extends ClientError {
  constructor(path: string, reason: string) {
    super('file_refused', `${path} ${reason}`)
  }
}

/** The hash of a value, independent of the order of its members. */
export function hashOfValue(value: unknown): string {
  return hashOfText(canonicalJson(value))
}

export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function insertAll(text: string, insertions: readonly Insertion[]): string {
  return insertions.reduce((before, { at, text }) => before.slice(0, at) + text + before.slice(at), text)
}

/** Removes the pieces again; undefined if they are not where they were inserted. */
export function takeOut(text: string, insertions: readonly Insertion[]): string | undefined {
  let rest = text
  for (const { at, text: piece } of insertions.toReversed()) {
    if (rest.slice(at, at + piece.length) !== piece) return undefined
    rest = rest.slice(0, at) + rest.slice(at + piece.length)
  }
  return rest
}

/** The leaf values of a value: this program owns these, and not the objects around them. */
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

/** Whether a file's value contains an entry. */
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

/** The name of a place in a file, for messages: `mcpServers.agent-grid`. */
export function placeName({ container, name }: Pick<Entry, 'container' | 'name'>): string {
  return [...container, ...(name === undefined ? [] : [name])].join('.')
}
