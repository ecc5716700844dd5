/**
 * The local database file: one process, one connection. The operating system's
 * lock decides; the side file `<db>.owner` only says who holds it.
 */
import { type Client } from '@libsql/client'
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GridError } from '../../errors.ts'
import { newKeyRing } from '../../lib/key-ring.ts'
import { isBusy } from './database-errors.ts'

/** Who holds a local file, and where it takes commands (see `cli/control.ts`). */
export interface Owner {
  pid: number
  host: string
  since: string
  control?: { url: string; token: string }
}

/** The path of a `file:` URL, as the driver reads it; undefined for a remote database. */
export function localPath(databaseUrl: string): string | undefined {
  const path = databaseUrl.match(/^file:(?:\/\/(?=\/))?(.+)$/)?.[1]
  return path === undefined ? undefined : decodeURIComponent(path)
}

/**
 * Make the database file and its folder, readable by their owner alone. SQLite makes
 * the log beside it with the same mode, so this comes before the first connection.
 */
export function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    // A file that exists is not opened: closing it would drop the lock of a connection in this process.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    chmodSync(path, 0o600)
  }
}

/**
 * Take the lock for the life of the process and set the pragmas.
 * Fails with `database_in_use` when another process holds the file.
 */
export async function takeLocalFile(
  client: Client,
  path: string,
  options: { durability: 'full' | 'relaxed'; waitSeconds: number; now: () => number },
): Promise<void> {
  const until = options.now() + options.waitSeconds * 1_000
  for (;;) {
    try {
      await setPragmas(client, options.durability)
      // Taking the write lock once keeps it: the locking mode is exclusive.
      await client.batch(['SELECT 1'], 'write')
      break
    } catch (error) {
      if (!isBusy(error)) throw error
      // The failed statement stays open on the connection and would swallow later writes.
      await client.reconnect()
      if (options.now() >= until) throw inUse(path)
      await sleep(250)
    }
  }
}

/**
 * Fold the log into the file and let go of the lock. Closing alone does not: the driver
 * frees its statements when the collector comes by, and they keep the connection alive.
 */
export async function releaseLocalFile(client: Client): Promise<void> {
  // The lock cannot be given up while there is a log, and is given up at the next access.
  await client.execute('PRAGMA journal_mode = DELETE')
  await client.execute('PRAGMA locking_mode = NORMAL')
  await client.execute('SELECT count(*) FROM sqlite_master')
}

/** True while this connection still holds the exclusive lock. */
export async function holdsLock(client: Client): Promise<boolean> {
  const { rows } = await client.execute('PRAGMA locking_mode')
  return rows[0].locking_mode === 'exclusive'
}

/** Say who holds the file. */
export function writeOwner(path: string, owner: Owner): void {
  writeFileSync(`${path}.owner`, JSON.stringify(owner), { mode: 0o600 })
}

/** Who says to hold the file; undefined when nobody does. */
export function readOwner(path: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(`${path}.owner`, 'utf8')) as Owner
  } catch {
    return undefined
  }
}

export function removeOwner(path: string): void {
  rmSync(`${path}.owner`, { force: true })
}

/** The key ring beside the database, made when it is first asked for. It is no part of a backup. */
export function readKeys(path: string): string {
  const file = `${path}.keys`
  if (!existsSync(file)) {
    // What it seals is promised to last, so the key must be on disk first.
    const opened = openSync(file, 'wx', 0o600)
    writeSync(opened, newKeyRing())
    fsyncSync(opened)
    closeSync(opened)
  }
  return readFileSync(file, 'utf8').trim()
}

/** This process, as an owner. */
export function thisProcess(now: number): Owner {
  return { pid: process.pid, host: hostname(), since: new Date(now).toISOString() }
}

/**
 * Memory for pages of the file, 16 MB at most and taken as they are read. With SQLite's 2 MB the ends of the indexes of
 * some thousand mailboxes do not stay: a send and a read fetch pages again, and the more the larger the file is.
 */
const cacheKb = 16_000
/**
 * After so many pages (16 MB) the log is folded into the file, and whoever commits then waits for it: one send in 450
 * or so. With SQLite's 1,000 it is one in 112, which is just the slowest percent. One table of SQLite's, with places
 * for 4,062 pages, says where in the log a page is; with more pages there would be a second to search.
 */
const checkpointPages = 4_000
/** A log that a large commit made longer than this is cut when it begins anew. Reliability 5.1. */
const maxLogBytes = 32 * 2 ** 20

async function setPragmas(client: Client, durability: 'full' | 'relaxed'): Promise<void> {
  const synchronous = durability === 'full' ? 2 : 1
  const wanted: [string, string, string | number][] = [
    ['locking_mode', 'EXCLUSIVE', 'exclusive'],
    ['journal_mode', 'WAL', 'wal'],
    ['synchronous', String(synchronous), synchronous],
    ['foreign_keys', 'ON', 1],
    // Negative: in KiB, not in pages.
    ['cache_size', String(-cacheKb), -cacheKb],
    ['wal_autocheckpoint', String(checkpointPages), checkpointPages],
    ['journal_size_limit', String(maxLogBytes), maxLogBytes],
  ]
  for (const [name, set] of wanted) await client.execute(`PRAGMA ${name} = ${set}`)
  for (const [name, , expected] of wanted) {
    const { rows } = await client.execute(`PRAGMA ${name}`)
    if (rows[0][name] !== expected) throw new Error(`The database refused PRAGMA ${name} = ${expected}`)
  }
}

function inUse(path: string): GridError {
  const owner = readOwner(path)
  const who = owner ? ` (process ${owner.pid} on ${owner.host} since ${owner.since})` : ''
  return new GridError(
    'database_in_use',
    `The database ${path} is in use by another process${who}. A local file takes one process; for several use libsql-server or Turso.`,
  )
}
