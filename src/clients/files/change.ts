/** Changes to a client's files. All changes are computed and shown before either all or none of them are made. */
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
import { hasAll, type PutAll, putEntries, statesOf, takeEntries } from './entries.ts'
import { hashOfFile } from './json-edit.ts'
import {
  type EntryState,
  FileRefusedError,
  hashOfText,
  hashOfValue,
  takeOut,
  type WantedFile,
  type WrittenEntry,
  type WrittenFile,
} from './written-file.ts'

export interface FileChange {
  path: string
  /** The current text; undefined if there is no file. */
  current: string | undefined
  /** The new text; undefined if the file will be removed. */
  next: string | undefined
  /** The file's new permissions. */
  mode?: number
  /** The file's current permissions, if they change. */
  oldMode?: number
  /** The new record of the file; undefined if none of our entries remain in the file. */
  written?: WrittenFile
  /** The previous record, whose entries are removed. */
  removed?: WrittenFile
  /** The keys of entries that could not be added or removed because of others' changes. */
  left: string[]
}

/**
 * Computes the change that adds the wanted entries to a file. `previous` records what was written before. Other
 * programs' text between our entries stays. Fails with `FileRefusedError`.
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
  const { text, kept, left } = previous ? revert(previous, current, wanted) : { text: current, kept: [], left: [] }
  if (left.length > 0) {
    throw new FileRefusedError(path, `was changed since it was written: ${left.join(', ')}. Undo that, or remove it.`)
  }
  const { next, insertions, entries, made, skipped } = wanted.format === 'own'
    ? putOwn(wanted, text)
    : putEntries(wanted, text, { kept, isFirst: previous === undefined })
  if (next !== current) checkWritable(path)
  const isExact = kept.length === 0
  const written: WrittenFile = {
    path,
    format,
    before: isExact ? text === undefined ? null : hashOfText(text) : previous!.before,
    after: hashOfText(next),
    folders: [...new Set([...previous?.folders ?? [], ...missingFolders(path)])],
    ...recorded,
    // Insertions are recorded only if undoing all of them removes all of our entries.
    insertions: isExact ? insertions : [],
    entries,
    made: isExact ? made : [...previous!.made ?? [], ...made],
    ...(wanted.format !== 'own' && wanted.base && { base: hashOfValue(wanted.base) }),
    ...(wanted.format !== 'own' && wanted.table && { table: wanted.table }),
  }
  const mode = hasKey ? privateMode : previous?.mode
  return { path, current, next, mode, oldMode, written, removed: previous, left: skipped }
}

/** Computes the change that removes our entries from a file. Changes by others stay. */
export function planRemoval(previous: WrittenFile): FileChange {
  const { path, mode } = previous
  const current = readText(path)
  const { text, left } = revert(previous, current)
  if (text !== current) checkWritable(path)
  // The entries that stay may contain the key, so the file stays unreadable for other users.
  return { path, current, next: text, mode: left.length > 0 ? undefined : mode, removed: previous, left }
}

/** Makes the changes in order. If one fails, reverts the earlier ones. */
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

/** Returns whether our values in a written file are unchanged, changed or gone. Ignores other content. */
export function stateOfFile(written: WrittenFile): EntryState {
  const { path, format, entries, after } = written
  const current = readText(path)
  if (current === undefined) return 'gone'
  if (format === 'own') return hashOfText(current) === after ? 'there' : 'changed'
  // Optional entries, such as permissions, are not compared, because the user may change them at any time.
  const states = statesOf(format, path, current, entries.filter(({ isOptional }) => !isOptional))
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

function putOwn({ path, text: wanted }: WantedFile & { format: 'own' }, text: string | undefined): PutAll {
  if (text === undefined || text === wanted) return { next: wanted, insertions: [], entries: [], made: [], skipped: [] }
  throw new FileRefusedError(path, 'is there, and was not written by "agent-grid connect". Move it away first.')
}

interface Reverted {
  text: string | undefined
  /** Entries that stay because they are still wanted. */
  kept: WrittenEntry[]
  /** Entries that stay because others have changed them. */
  left: string[]
}

/**
 * Removes our entries from a text, except the wanted ones. If the file is unchanged since we wrote it, restores the
 * original text exactly; otherwise removes entries one by one.
 */
function revert(written: WrittenFile, current: string | undefined, wanted?: WantedFile): Reverted {
  const { before, after, format, insertions } = written
  if (current === undefined) return { text: undefined, kept: [], left: [] }
  const isUnchanged = hashOfText(current) === after
  if (format === 'own') {
    return isUnchanged ? { text: undefined, kept: [], left: [] } : { text: current, kept: [], left: ['its text'] }
  }
  const original = isUnchanged && insertions.length > 0 ? takeOut(current, insertions) : undefined
  if (original === '' && before === null) return { text: undefined, kept: [], left: [] }
  if (original !== undefined && before === hashOfText(original)) return { text: original, kept: [], left: [] }
  const { text, kept, left } = takeEntries(written, current, wanted?.format === 'own' ? [] : wanted?.entries ?? [])
  return { text: before === null && isEmpty(written, text) ? undefined : text, kept, left }
}

function isAsWanted(wanted: WantedFile, { format, entries }: WrittenFile, current: string): boolean {
  if (wanted.format === 'own') return current === wanted.text
  return format !== 'own' && hasAll(wanted, entries, current)
}

/** Whether the file contains only its initial content. */
function isEmpty({ format, base = hashOfValue({}) }: WrittenFile, text: string): boolean {
  return text.trim() === '' || format === 'json' && hashOfFile(text) === base
}
