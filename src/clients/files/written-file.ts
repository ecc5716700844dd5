import { createHash } from 'node:crypto'
import { canonicalJson } from '../../lib/encoding.ts'
import { ClientError } from '../grid-call.ts'

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

export interface Entry {
  /** The names that lead to the object or array that it is put into. Objects that are missing are made. */
  container: string[]
  /** Its name in an object; without it, it becomes the last element of an array. */
  name?: string
  value: Json
  /** Whatever is at its place already stays, and is not ours. */
  isOptional?: true
}

interface WantedPath {
  path: string
  /** It has a key, so only the user may read the file. */
  hasKey?: true
}

/** A file of others that gets entries of ours. */
export interface WantedEntries extends WantedPath {
  format: 'json' | 'toml'
  entries: Entry[]
  /** What a new file begins with, such as its version. */
  base?: { [name: string]: Json }
  /** Leads to an object that means nothing without our entries in it. What others add to it stays as long as ours. */
  table?: string[]
}

/** Others are files that only we write. */
export type WantedFile = WantedEntries | WantedPath & { format: 'own'; text: string }

/** A piece of text that was put in. Nothing was replaced. */
export interface Insertion {
  /** In UTF-16 units, in the text before it. */
  at: number
  text: string
}

/** A value in a JSON or TOML file, as it was written. */
export interface WrittenEntry extends Pick<Entry, 'container' | 'name' | 'isOptional'> {
  /** SHA-256 of its canonical JSON. */
  hash: string
}

/** Text that puts in an entry, and the containers that it makes; `[]` is the whole file. */
export interface Put {
  insertions: Insertion[]
  made: string[][]
}

export type EntryState = 'there' | 'changed' | 'gone'

export interface WrittenFile {
  /** As the client names it. If it is a symbolic link, it stays one. */
  path: string
  format: WantedFile['format']
  /** SHA-256 of its bytes before; null if there was no file. */
  before: string | null
  /** SHA-256 of its bytes after. */
  after: string
  /** Folders that were missing, the outermost first. They are removed with the file, if they are empty then. */
  folders: string[]
  /** Its permissions before, if they were narrowed because it has a key now. */
  mode?: number
  insertions: Insertion[]
  /** The hash of what a new file began with, so that it is removed if nothing else is left. */
  base?: string
  /** Empty for an own file. */
  entries: WrittenEntry[]
  /** The containers that were made, which go when they are empty. */
  made?: string[][]
  /** As it was wanted. If it was made, it goes with whatever others put into it. */
  table?: string[]
}

/** A file cannot be edited. The message says why, and what the person can do. */
export class FileRefusedError extends ClientError {
  constructor(path: string, reason: string) {
    super('file_refused', `${path} ${reason}`)
  }
}

/** The hash of a value, whatever the order of its members. */
export function hashOfValue(value: unknown): string {
  return hashOfText(canonicalJson(value))
}

export function hashOfText(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function insertAll(text: string, insertions: readonly Insertion[]): string {
  return insertions.reduce((before, { at, text }) => before.slice(0, at) + text + before.slice(at), text)
}

/** Take them out again; undefined if they are not where they were put. */
export function takeOut(text: string, insertions: readonly Insertion[]): string | undefined {
  let rest = text
  for (const { at, text: piece } of insertions.toReversed()) {
    if (rest.slice(at, at + piece.length) !== piece) return undefined
    rest = rest.slice(0, at) + rest.slice(at + piece.length)
  }
  return rest
}

/** The values that make up a value, one by one: we own these, and not the objects around them. */
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

/** Whether an entry is in what a file says. */
export function stateOf(file: Json | undefined, { container, name, hash }: WrittenEntry): EntryState {
  const value = valueAt(file, name === undefined ? container : [...container, name])
  if (name === undefined) {
    return Array.isArray(value) && value.some((one) => hashOfValue(one) === hash) ? 'there' : 'gone'
  }
  if (value === undefined) return 'gone'
  return hashOfValue(value) === hash ? 'there' : 'changed'
}

/** What a file says, with one entry more. */
export function withEntry(value: Json | undefined, { container, name, value: added }: Entry): Json {
  const [first, ...rest] = container
  if (first === undefined && name === undefined) return [...(value as Json[] ?? []), added]
  const members = (value ?? {}) as { [name: string]: Json }
  if (first === undefined) return { ...members, [name!]: added }
  return { ...members, [first]: withEntry(valueAt(members, [first]), { container: rest, name, value: added }) }
}

/** How a place in a file is called in a message: `mcpServers.agent-grid`. */
export function placeName({ container, name }: Pick<Entry, 'container' | 'name'>): string {
  return [...container, ...(name === undefined ? [] : [name])].join('.')
}
