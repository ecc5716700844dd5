/** Changes to the files of a client: worked out first, shown, and then written, or none of them. */
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
import { entryState, hashOfFile, putEntry, takeEntry } from './json-edit.ts'
import { putTable, tableState, takeTable } from './toml-edit.ts'
import {
  type EntryState,
  FileRefusedError,
  hashOfText,
  hashOfValue,
  insertAll,
  placeName,
  takeOut,
  type WantedFile,
  type WrittenFile,
} from './written-file.ts'

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

const editors = {
  json: { put: putEntry, state: entryState, take: takeEntry },
  toml: { put: putTable, state: tableState, take: takeTable },
}

/**
 * The change that gives a file what is wanted in it. `previous` is what was written into it before. Fails with
 * `FileRefusedError`.
 */
export function planWanted(wanted: WantedFile, previous: WrittenFile | undefined): FileChange {
  const { path, format, hasKey } = wanted
  const current = readText(path)
  const oldMode = hasKey && openMode(path)
  const keptMode = hasKey ? previous?.mode ?? oldMode : undefined
  const recorded = keptMode === undefined ? {} : { mode: keptMode }
  if (previous && current !== undefined && isAsWanted(wanted, previous, current)) {
    const mode = oldMode === undefined ? undefined : privateMode
    return { path, current, next: current, mode, oldMode, written: { ...previous, ...recorded }, left: [] }
  }
  const { text, left } = previous ? revert(previous, current) : { text: current, left: [] }
  if (left.length > 0) {
    throw new FileRefusedError(path, `was changed since it was written: ${left.join(', ')}. Undo that, or remove it.`)
  }
  const { next, insertions, entries } = put(wanted, text)
  if (next !== current) checkWritable(path)
  const written: WrittenFile = {
    path,
    format,
    before: text === undefined ? null : hashOfText(text),
    after: hashOfText(next),
    folders: [...new Set([...previous?.folders ?? [], ...missingFolders(path)])],
    ...recorded,
    insertions,
    entries,
    ...(wanted.format !== 'own' && wanted.base && { base: hashOfValue(wanted.base) }),
  }
  const mode = hasKey ? privateMode : previous?.mode
  return { path, current, next, mode, oldMode, written, removed: previous, left: [] }
}

/** The change that takes out of a file what was written into it. Others' changes stay. */
export function planRemoval(previous: WrittenFile): FileChange {
  const { path, mode } = previous
  const current = readText(path)
  const { text, left } = revert(previous, current)
  if (text !== current) checkWritable(path)
  // What is left may have the key, so others still may not read it.
  return { path, current, next: text, mode: left.length > 0 ? undefined : mode, removed: previous, left }
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
export function stateOfFile(written: WrittenFile): EntryState {
  const { path, format, entries, after } = written
  const current = readText(path)
  if (current === undefined) return 'gone'
  if (format === 'own') return hashOfText(current) === after ? 'there' : 'changed'
  const states = entries.map((entry) => editors[format].state(path, current, entry))
  return states.find((state) => state === 'changed') ?? states.find((state) => state === 'gone') ?? 'there'
}

export function isChange({ path, current, next, mode }: FileChange): boolean {
  return next !== current || mode !== undefined && next !== undefined && hasOtherMode(path, mode)
}

function apply(change: FileChange): void {
  const { path, current, next, mode, removed } = change
  if (readText(path) !== current) {
    throw new FileRefusedError(path, 'was just changed by another program. Run the command again.')
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
  let next = text ?? ''
  const insertions: WrittenFile['insertions'] = []
  const entries: WrittenFile['entries'] = []
  if (wanted.format === 'own') {
    if (text !== undefined && text !== wanted.text) {
      throw new FileRefusedError(path, 'is there, and was not written by "agent-grid connect". Move it away first.')
    }
    return { next: wanted.text, insertions, entries }
  }
  if (wanted.base && next.trim() === '') {
    insertions.push({ at: 0, text: `${JSON.stringify(wanted.base, null, 2)}\n` })
    next = insertAll(next, insertions)
  }
  for (const entry of wanted.entries) {
    const done = editors[wanted.format].put(path, next, entry)
    next = insertAll(next, done.insertions)
    insertions.push(...done.insertions)
    entries.push(done.entry)
  }
  return { next, insertions, entries }
}

function isAsWanted(wanted: WantedFile, previous: WrittenFile, current: string): boolean {
  if (wanted.format === 'own') return current === wanted.text
  if (stateOfFile(previous) !== 'there') return false
  const hashes = wanted.entries.map((entry) => placeName(entry) + hashOfValue(entry.value))
  return hashes.join() === previous.entries.map((entry) => placeName(entry) + entry.hash).join()
}

/** The text without what was written into it: exactly as before, if it was not changed since; else value by value. */
function revert(written: WrittenFile, current: string | undefined): { text: string | undefined; left: string[] } {
  const { path, before, after, format, insertions, entries } = written
  if (current === undefined) return { text: undefined, left: [] }
  const isUnchanged = hashOfText(current) === after
  if (format === 'own') return isUnchanged ? { text: undefined, left: [] } : { text: current, left: ['its text'] }
  // What was there already, and was taken over, has to be found.
  if (isUnchanged && before !== after) {
    const text = takeOut(current, insertions)
    if (text === '' && before === null) return { text: undefined, left: [] }
    if (text !== undefined && before === hashOfText(text)) return { text, left: [] }
  }
  let text = current
  const left: string[] = []
  for (const entry of entries.toReversed()) {
    const { state, take } = editors[format]
    const found = state(path, text, entry)
    const rest = found === 'there' ? take(path, text, entry) : undefined
    if (rest !== undefined) text = rest
    else if (found !== 'gone') left.push(placeName(entry))
  }
  return { text: before === null && isEmpty(written, text) ? undefined : text, left }
}

/** Whether nothing is left but what a new file began with. */
function isEmpty({ format, base = hashOfValue({}) }: WrittenFile, text: string): boolean {
  return text.trim() === '' || format === 'json' && hashOfFile(text) === base
}
