/** What `connect` wrote into one file, so that `disconnect` can take exactly that out again. */

/** A piece of text that was put in. Nothing was replaced. */
export interface Insertion {
  /** In UTF-16 units, in the text before it. */
  at: number
  text: string
}

/** A value in a JSON file. */
export interface WrittenEntry {
  /** The names that lead to the object or array that it was put into. */
  container: string[]
  /** Its name in an object; undefined in an array. */
  name?: string
  /** SHA-256 of its canonical JSON. */
  hash: string
  /** How many of the containers, counted from the innermost, were made for it. */
  made: number
  /** The white space that was in the innermost container that was there before, if that was all it had. */
  inside?: string
}

/** One file. */
export interface WrittenFile {
  /** As the client names it. If it is a symbolic link, it stays one. */
  path: string
  /** `own`: nobody else writes it, so it was made and is removed as a whole. */
  format: 'json' | 'toml' | 'own'
  /** SHA-256 of its bytes before; null if there was no file. */
  before: string | null
  /** SHA-256 of its bytes after. */
  after: string
  /** Folders that were made for it, the outermost first. */
  folders: string[]
  /** Its permissions before, if they were narrowed because it has a key now. */
  mode?: number
  /** In the order in which they were made. */
  insertions: Insertion[]
  /** Of a JSON file. */
  entries: WrittenEntry[]
}
