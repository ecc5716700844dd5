/** Changes to the files of a client: worked out first, shown, and then written, or none of them. */
import { hashOfFile, putEntry, stateOf, takeEntry } from './json-edit.ts'
import { putTable, tableState, takeTable } from './toml-edit.ts'
import {
  checkWritable,
  hasOtherMode,
  missingFolders,
  openMode,
  privateMode,
  readText,
  removeFile,
  removeFolders,
  writeText,
} from './disk.ts'
import {
  FileRefusedError,
  hashOfText,
  hashOfValue,
  insertAll,
  placeName,
  takeOut,
  type WantedFile,
  type WrittenFile,
} from './written-file.ts'

/** A change to one file. */
export interface FileChange {
  path: string
  /** The text that is there; undefined if there is no file. */
  current: string | undefined
  /** The text that will be; undefined if the file will be removed. */
  next: string | undefined
  /** The permissions that the file gets. */
  mode?: number
  /** The permissions that the file has, if they change. */
  oldMode?: number
  /** What is recorded; undefined if nothing of ours is left in the file. */
  written?: WrittenFile
  /** What was written before, and is taken out. */
  removed?: WrittenFile
  /** What others changed since, which stays: `path: place`. */
  left: string[]
}

/** The text of a file without what was written into it. */
interface Reverted {
  text: string | undefined
  left: string[]
}

/**
 * The change that gives a file what is wanted in it. `previous` is what was written into it before. Fails with
 * `FileRefusedError`.
 */
export function planWanted(wanted: WantedFile, previous: WrittenFile | undefined): FileChange {
  const { path } = wanted
  const current = readText(path)
  if (previous && current !== undefined && isAsWanted(wanted, previous, current)) {
    const oldMode = wanted.hasKey ? openMode(path) : undefined
    if (oldMode === undefined) return { path, current, next: current, written: previous, left: [] }
    const written = { ...previous, mode: previous.mode ?? oldMode }
    return { path, current, next: current, mode: privateMode, oldMode, written, left: [] }
  }
  const base = previous ? revert(previous, current) : { text: current, left: [] }
  if (base.left.length > 0) {
    throw new FileRefusedError(
      path,
      `was changed since it was written: ${base.left.join(', ')}. Undo that, or remove it.`,
    )
  }
  const { next, insertions, entries } = put(wanted, base.text)
  const oldMode = wanted.hasKey ? openMode(path) : undefined
  const mode = wanted.hasKey ? privateMode : previous?.mode
  const written: WrittenFile = {
    path,
    format: wanted.format,
    before: base.text === undefined ? null : hashOfText(base.text),
    after: hashOfText(next),
    folders: [...new Set([...previous?.folders ?? [], ...missingFolders(path)])],
    ...((previous?.mode ?? oldMode) !== undefined && wanted.hasKey && { mode: previous?.mode ?? oldMode }),
    insertions,
    entries,
    ...(wanted.format === 'json' && wanted.base && { base: hashOfValue(wanted.base) }),
  }
  if (next !== current) checkWritable(path)
  return { path, current, next, mode, oldMode, written, removed: previous, left: [] }
}

/** The change that takes out of a file what was written into it. Others' changes stay. */
export function planRemoval(previous: WrittenFile): FileChange {
  const { path } = previous
  const current = readText(path)
  const { text, left } = revert(previous, current)
  if (text !== current) checkWritable(path)
  return { path, current, next: text, mode: previous.mode, removed: previous, left }
}

/** Make the changes, in their order. If one fails, those before it are undone. */
export function applyChanges(changes: readonly FileChange[]): void {
  const done: FileChange[] = []
  try {
    for (const change of changes) {
      apply(change)
      done.push(change)
    }
  } catch (error) {
    for (const { path, current, next, mode, oldMode, written } of done.toReversed()) {
      const removed = current === undefined ? written : undefined
      apply({ path, current: next, next: current, mode: oldMode ?? mode, removed, left: [] })
    }
    throw error
  }
}

/** Whether a written file is as it was left: the values that were written, whatever else is in it. */
export function stateOfFile(written: WrittenFile): 'there' | 'changed' | 'gone' {
  const current = readText(written.path)
  if (current === undefined) return 'gone'
  if (written.format === 'own') return hashOfText(current) === written.after ? 'there' : 'changed'
  const states = written.entries.map((entry) =>
    written.format === 'toml' ? tableState(written.path, current, entry) : stateOf(written.path, current, entry)
  )
  return states.find((state) => state === 'changed') ?? states.find((state) => state === 'gone') ?? 'there'
}

/** Whether a change changes anything on the disk. */
export function isChange({ path, current, next, mode }: FileChange): boolean {
  return next !== current || mode !== undefined && next !== undefined && hasOtherMode(path, mode)
}

function apply(change: FileChange): void {
  const { path, current, next, mode, removed } = change
  if (readText(path) !== current) {
    throw new FileRefusedError(path, 'was changed meanwhile by another program. Run the command again.')
  }
  if (next !== undefined) {
    if (isChange(change)) writeText(path, next, mode)
    return
  }
  if (current !== undefined) removeFile(path)
  removeFolders(removed?.folders ?? [])
}

function put(wanted: WantedFile, text: string | undefined) {
  const { path } = wanted
  if (wanted.format === 'own') {
    if (text !== undefined && text !== wanted.text) {
      throw new FileRefusedError(path, 'is there, and was not written by "agent-grid connect". Move it away first.')
    }
    return { next: wanted.text, insertions: [], entries: [] }
  }
  if (wanted.format === 'toml') {
    const { insertions, entry } = putTable(path, text ?? '', wanted)
    return { next: insertAll(text ?? '', insertions), insertions, entries: [entry] }
  }
  let next = text ?? ''
  const [insertions, entries] = [[], []] as [WrittenFile['insertions'], WrittenFile['entries']]
  if (wanted.base && next.trim() === '') {
    insertions.push({ at: 0, text: `${JSON.stringify(wanted.base, null, 2)}\n` })
    next = insertAll(next, insertions)
  }
  for (const entry of wanted.entries) {
    const done = putEntry(path, next, entry)
    next = insertAll(next, done.insertions)
    insertions.push(...done.insertions)
    entries.push(done.entry)
  }
  return { next, insertions, entries }
}

function isAsWanted(wanted: WantedFile, previous: WrittenFile, current: string): boolean {
  if (wanted.format === 'own') return current === wanted.text
  if (stateOfFile(previous) !== 'there') return false
  if (wanted.format === 'toml') {
    return previous.insertions[0].text.includes(wanted.table.split('\n').join(eolOf(previous)))
  }
  const hashes = wanted.entries.map(({ container, name, value }) => placeName({ container, name }) + hashOfValue(value))
  const before = previous.entries.map(({ container, name, hash }) => placeName({ container, name }) + hash)
  return JSON.stringify(hashes) === JSON.stringify(before)
}

function eolOf({ insertions }: WrittenFile): string {
  return insertions[0].text.includes('\r\n') ? '\r\n' : '\n'
}

/** Exactly, if nobody changed the file since; else value by value. */
function revert(written: WrittenFile, current: string | undefined): Reverted {
  const { path, before, format } = written
  if (current === undefined) return { text: undefined, left: [] }
  const isUnchanged = hashOfText(current) === written.after
  if (format === 'own') return isUnchanged ? { text: undefined, left: [] } : { text: current, left: ['its text'] }
  // What was there already, and was taken over, has to be found.
  if (isUnchanged && before !== written.after) {
    const text = takeOut(current, written.insertions)
    if (text !== undefined && before === null && text === '') return { text: undefined, left: [] }
    if (text !== undefined && before === hashOfText(text)) return { text, left: [] }
  }
  const { text, left } = format === 'toml' ? withoutTable(written, current) : withoutEntries(written, current)
  return { text: before === null && isEmpty(written, text) ? undefined : text, left }

  function withoutTable({ entries: [entry], insertions }: WrittenFile, text: string): { text: string; left: string[] } {
    if (tableState(path, text, entry) === 'gone') return { text, left: [] }
    const rest = takeTable(path, text, entry, insertions[0].text)
    return rest === undefined ? { text, left: [placeName(entry)] } : { text: rest, left: [] }
  }
}

/** Whether nothing is left but what a new file began with. */
function isEmpty({ format, base = hashOfValue({}) }: WrittenFile, text: string): boolean {
  if (text.trim() === '') return true
  return format === 'json' && hashOfFile(text) === base
}

function withoutEntries({ path, entries }: WrittenFile, current: string): { text: string; left: string[] } {
  let text = current
  const left: string[] = []
  for (const entry of entries.toReversed()) {
    const state = stateOf(path, text, entry)
    if (state === 'there') text = takeEntry(path, text, entry)
    else if (state === 'changed') left.push(placeName(entry))
  }
  return { text, left }
}
