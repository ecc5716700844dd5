/**
 * The local database file and its accompanying files. The file `<db>.owner` only names the process that holds the
 * database. Only the lock of `file-lock.ts` protects the database.
 */
import { type Client } from '@libsql/client'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { GridError } from '../../errors.ts'
import { newKeyRing } from '../../lib/key-ring.ts'
import { shellWord } from '../../lib/shell-word.ts'
import { isFull } from './database-errors.ts'

/** The number of symbolic links that Linux follows. */
const maxLinks = 40

/** The process that holds a local file, and its address for commands (`cli/command-server.ts`). */
export interface FileOwner {
  pid: number
  host: string
  since: string
  control?: { url: string; token: string }
}

/** The path in a `file:` URL, as the driver reads it; undefined for a remote database. */
export function localPath(databaseUrl: string): string | undefined {
  const path = databaseUrl.match(/^file:(?:\/\/(?=\/))?(.+)$/)?.[1]
  return path === undefined ? undefined : decodeURIComponent(path)
}

/**
 * Resolves symbolic links, because SQLite names the log after the target, and the lock is next to it. Unlike `realpath`
 * of some runtimes, it opens no file, because closing the database would drop its locks.
 */
export function fileBehind(path: string): string {
  for (let links = 0; links < maxLinks; links++) {
    try {
      path = resolve(dirname(path), readlinkSync(path))
    } catch {
      break
    }
  }
  return path
}

/** Creates the file and its folder, readable only by their owner. SQLite gives the log the same mode. */
export function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    // An existing file is not opened, because closing it would drop the lock of another connection in this process.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (statSync(path).isDirectory()) throw Object.assign(new Error(`${path} is a folder`), { code: 'EISDIR' })
    chmodSync(path, 0o600)
  }
}

/**
 * Checkpoints the log into the file, removes it, and closes the client. Closing alone is not enough, because the
 * driver's statements keep the connection open until they are garbage collected. Another reader, such as the `sqlite3`
 * shell, keeps the log.
 */
export async function releaseLocalFile(client: Client): Promise<void> {
  await client.execute('PRAGMA journal_mode = DELETE').catch(() => {})
  client.close()
}

/** Writes the owner file. It is only informative, so it may be missing on a full disk. */
export function writeOwner(path: string, owner: FileOwner): void {
  try {
    writeFileSync(`${path}.owner`, JSON.stringify(owner), { mode: 0o600 })
  } catch (error) {
    if (!isNoSpace(error)) throw error
  }
}

/** Whether the system refused a write because the disk is full. Deno has no code for this error. */
export function isNoSpace(error: unknown): boolean {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || /os error (28|122)\b/.test(String(message))
}

export function readOwner(path: string): FileOwner | undefined {
  try {
    return JSON.parse(readFileSync(`${path}.owner`, 'utf8')) as FileOwner
  } catch {
    return undefined
  }
}

export function removeOwner(path: string): void {
  rmSync(`${path}.owner`, { force: true })
}

/** Creates a key ring next to the database. `write` replaces the write to the file (tests). */
export function makeKeyRing(path: string, write: (file: number, text: string) => void = writeSync): string {
  const ring = newKeyRing()
  // The key must be on disk before anything is sealed with it, and a full disk must not leave a truncated key.
  const unfinished = `${path}.keys.new`
  try {
    const opened = openSync(unfinished, 'w', 0o600)
    try {
      write(opened, ring)
      fsyncSync(opened)
    } finally {
      closeSync(opened)
    }
    renameSync(unfinished, `${path}.keys`)
  } catch (error) {
    rmSync(unfinished, { force: true })
    throw error
  }
  return ring
}

/** The key ring next to the database, made readable only by its owner; undefined if there is none. */
export function readStoredKeyRing(path: string): string | undefined {
  const file = `${path}.keys`
  if (!existsSync(file)) return undefined
  try {
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
  } catch {
    // The file belongs to another user. The doctor warns about it.
  }
  return readFileSync(file, 'utf8').trim()
}

/** Whether the file has lost its content. If there is a key ring, the file once had tables. */
export function isEmptied(path: string): boolean {
  const size = (file: string) => statSync(file, { throwIfNoEntry: false })?.size
  return size(path) === 0 && !size(`${path}-wal`) && existsSync(`${path}.keys`)
}

/** The name prefix of folders for copies of the file, see `backup/backup-file.ts`. */
export function workFolderOf(path: string): string {
  return join(dirname(path), `${basename(path)}.copy-`)
}

/** The temporary files next to a file while it is restored or filled by a copy. */
export const restoringFile = (path: string) => `${path}.restoring`
export const copyingFile = (path: string) => `${path}.copying`

/** Removes the leftovers of killed copies and restores. Only the process that owns the file may call it. */
export function removeLeftCopies(path: string): void {
  const prefix = basename(workFolderOf(path))
  const unfinished = [restoringFile(path), copyingFile(path)].map((file) => basename(file))
  const isLeft = (name: string) =>
    name.startsWith(prefix) || unfinished.some((file) => name === file || name === `${file}-journal`)
  for (const name of readdirSync(dirname(path))) {
    if (isLeft(name)) rmSync(join(dirname(path), name), { recursive: true, force: true })
  }
}

export function thisProcess(now: number): FileOwner {
  return { pid: process.pid, host: hostname(), since: new Date(now).toISOString() }
}

/** 16 MB, filled as pages are read. SQLite's default 2 MB cannot hold the last index pages of thousands of inboxes. */
const cacheKb = 16_000
/** 16 MB, so that there is a checkpoint about every 450 commits. One block of the WAL index covers 4,062 pages. */
const checkpointPages = 4_000
/** A reader that starts may hold the log for a moment. There is no other writer. */
const busyMs = 1_000
/** A log that grew beyond this size in a large commit is truncated. */
const maxLogBytes = 32 * 2 ** 20

/** Sets the pragmas. Resolves to false if a full disk has no space for a log, in which case the file is read-only. */
export async function setPragmas(client: Client, durability: 'full' | 'relaxed'): Promise<boolean> {
  const pragmas = Object.entries({
    busy_timeout: busyMs,
    journal_mode: 'wal',
    synchronous: durability === 'full' ? 2 : 1,
    foreign_keys: 1,
    cache_size: -cacheKb,
    wal_autocheckpoint: checkpointPages,
    journal_size_limit: maxLogBytes,
  })
  let hasLog = true
  for (const [name, value] of pragmas) {
    try {
      await client.execute(`PRAGMA ${name} = ${value}`)
    } catch (error) {
      if (name !== 'journal_mode' || !isFull(error)) throw error
      hasLog = false
    }
  }
  for (const [name, expected] of pragmas) {
    if (name === 'journal_mode' && !hasLog) continue
    const { rows } = await client.execute(`PRAGMA ${name}`)
    if (rows[0][0] !== expected) throw new Error(`The database refused PRAGMA ${name} = ${expected}`)
  }
  return hasLog
}

export async function unusedBytes(client: Client): Promise<number> {
  const [{ rows: [free] }, { rows: [page] }] = [
    await client.execute('PRAGMA freelist_count'),
    await client.execute('PRAGMA page_size'),
  ]
  return Number(free.freelist_count) * Number(page.page_size)
}

/** Gives the file to the owner of `like`, so that root leaves no file that the grid's user cannot open. */
export function giveTo(file: string, like: string): void {
  const { uid, gid } = statSync(like)
  if (uid !== statSync(file).uid) chownSync(file, uid, gid)
}

/** Explains to the operator how to let this process write a file or folder. The command creates a missing folder. */
export function howToGive(...files: [string, ...string[]]): string {
  const uid = process.getuid?.()
  // Names the files, not the whole folder, which may contain other files.
  const paths = files.map(shellWord)
  if (uid === undefined) return `Give ${paths.join(' and ')} to the user of this process.`
  const make = existsSync(files[0]) ? '' : `sudo mkdir -p ${paths[0]} && `
  return `Let the user of this process, uid ${uid}, write: run "${make}sudo chown ${uid} ${paths.join(' ')}".`
}

/** The existing files of a database, as far as this process may see them. */
export function filesOf(path: string): string[] {
  try {
    return readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path))).map((name) =>
      join(dirname(path), name)
    )
  } catch {
    return []
  }
}

export function databaseInUse(path: string): GridError {
  const owner = readOwner(path)
  const holder = owner ? ` (process ${owner.pid} on ${owner.host} since ${owner.since})` : ''
  return new GridError(
    'database_in_use',
    `The database ${path} is in use by another process${holder}. Stop that process first: a local file takes one ` +
      'process; for several use libsql-server or Turso.',
  )
}

/** The size of a local file including its log, in bytes. */
export function bytesOf(path: string): number {
  return [path, `${path}-wal`].reduce((sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0), 0)
}
