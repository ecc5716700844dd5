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
}

export type WantedFile =
  & {
    path: string
    /** It has a key, so only the user may read the file. */
    hasKey?: true
  }
  & (
    /** `base` is what a new file begins with, such as its version. A TOML file gets tables of texts. */
    | { format: 'json' | 'toml'; entries: Entry[]; base?: { [name: string]: Json } }
    /** Only we write it. */
    | { format: 'own'; text: string }
  )

/** A piece of text that was put in. Nothing was replaced. */
export interface Insertion {
  /** In UTF-16 units, in the text before it. */
  at: number
  text: string
}

/** A value in a JSON or TOML file, as it was written. */
export interface WrittenEntry extends Pick<Entry, 'container' | 'name'> {
  /** SHA-256 of its canonical JSON. */
  hash: string
  /** How many of the containers, counted from the innermost, were made for it. One more: the file had no text. */
  made: number
}

export interface Put {
  insertions: Insertion[]
  entry: WrittenEntry
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

/** How a place in a file is called in a message: `mcpServers.agent-grid`. */
export function placeName({ container, name }: Pick<Entry, 'container' | 'name'>): string {
  return [...container, ...(name === undefined ? [] : [name])].join('.')
}
