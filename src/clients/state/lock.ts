/** Locks among the client programs of one machine: files that name the process that holds them. */
import { closeSync, mkdirSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { isAlive, ownMark, type ProcessMark } from './processes.ts'

export interface LockHolder extends ProcessMark {
  [about: string]: unknown
}

export interface Lock {
  /** Whether it still does: the file may have been removed. */
  isHeld(): boolean
  /** Give it up. Does nothing if this process no longer holds it. */
  release(): void
}

/** No process needs longer to write a lock after making its file, or to take over the lock of a dead one. */
const writingMs = 5_000

/**
 * Take the lock in the file at `path`; undefined if a living process holds it. The lock of a dead process is taken over
 * by one process only. `about` is written into it for others.
 */
export function takeLock(path: string, about: Record<string, unknown> = {}): Lock | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const text = JSON.stringify({ ...about, ...ownMark() })
  if (!create(path, text)) {
    if (!removeStale(path) || !create(path, text)) return undefined
  }
  const isHeld = () => read(path) === text
  return { isHeld, release: () => isHeld() && remove(path) }
}

/** The living process that holds a lock; undefined if none does. */
export function lockHolder(path: string): LockHolder | undefined {
  const holder = parse(read(path))
  return holder && isAlive(holder) ? holder : undefined
}

/** Resolves to what `act` returns while this process holds the lock; to undefined if others held it for `waitMs`. */
export async function withLock<T>(path: string, waitMs: number, act: () => T): Promise<T | undefined> {
  const until = performance.now() + waitMs
  for (;;) {
    const lock = takeLock(path)
    if (lock) {
      try {
        return act()
      } finally {
        lock.release()
      }
    }
    if (performance.now() > until) return undefined
    await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 8))
  }
}

function create(path: string, text: string): boolean {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    // Windows answers EPERM while a removed file is still open somewhere.
    if (['EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code!)) return false
    throw error
  }
  try {
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
  return true
}

/**
 * Remove the lock of a dead process. One process at a time does so: otherwise the second would remove the lock that the
 * first has taken after it.
 */
function removeStale(path: string): boolean {
  if (!isStale(path)) return false
  const guard = `${path}.takeover`
  if (!create(guard, '')) {
    if (ageOf(guard) > writingMs) remove(guard)
    return false
  }
  try {
    if (!isStale(path)) return false
    remove(path)
    return true
  } finally {
    remove(guard)
  }
}

/** A lock without words is being written, unless it is old. */
function isStale(path: string): boolean {
  const text = read(path)
  if (text === undefined) return false
  const holder = parse(text)
  return holder ? !isAlive(holder) : ageOf(path) > writingMs
}

function ageOf(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return 0
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function parse(text: string | undefined): LockHolder | undefined {
  try {
    const holder = JSON.parse(text ?? '')
    return typeof holder?.pid === 'number' && typeof holder.start === 'string' ? holder : undefined
  } catch {
    return undefined
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Another process has removed it.
  }
}
