/**
 * A copy of the local file at one commit, made by the process that holds it while it goes on writing. See
 * docs/architecture.md, "Backups".
 */
import type { Client } from '@libsql/client'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { writeAt } from './file-pieces.ts'
import { nextIteration } from '../../lib/next-iteration.ts'
import { checkpointPages, copyLogPages, fileBehind, foldLog } from './local-file.ts'
import { LogReader } from './log-reader.ts'

/**
 * The database file, opened a second time for reading. POSIX drops the lock of SQLite when the process closes any
 * descriptor of the file, so this one is closed after the lock was released, and not earlier.
 */
export class DatabaseFile {
  /** Of the file itself. */
  readonly path: string
  #descriptor: number | undefined

  /** SQLite follows links, and gives the log the name of the file itself. */
  constructor(path: string) {
    this.path = fileBehind(path)
  }

  /** How long it is, in bytes. */
  get bytes(): number {
    return fstatSync(this.#opened()).size
  }

  /**
   * Up to `length` bytes from `position`. Synchronous: Deno reads asynchronously through a second descriptor, and closes
   * that.
   */
  read(position: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    return bytes.subarray(0, readSync(this.#opened(), bytes, 0, length, position))
  }

  /** Only when the lock is not needed any more. */
  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  #opened(): number {
    return this.#descriptor ??= openSync(this.path, 'r')
  }
}

/** What is copied, and how its process makes room for it. */
export interface CopySource {
  client: Client
  file: DatabaseFile
  /** Runs `work` while no statement of a unit runs. */
  betweenCommits<Result>(work: () => Promise<Result>): Promise<Result>
  /** Asked about every second. Fails if the disk has become so full that the copy has to end. */
  requireSpace?(): Promise<void>
}

/**
 * A piece is read and written, and then the disk is left to the commits for as long as that took. Reading it holds the
 * event loop, for some milliseconds on a slow disk.
 */
const pieceBytes = 2 ** 20
/** How much of the copy may wait in memory to be written to the disk: a commit may have to wait for all of it. */
const maxUnsyncedBytes = 2 ** 22
/** How often the log is read. */
const readLogMs = 20
/** How often the free space is looked at: so many readings of the log. */
const readingsPerLook = 50

/**
 * Write the state of one commit to `target`, an SQLite database in one file. It has every commit that was acknowledged
 * before the call. `signal` ends it early, with an error and without a file.
 *
 * The file changes when the log is folded into it, and so while it is copied. But every page that a fold writes was in
 * the log: the log is read to its end before each fold, and its pages are written over the copy at last.
 */
export async function copyFile(source: CopySource, target: string, signal?: AbortSignal): Promise<void> {
  const { client, file, betweenCommits } = source
  const { rows: [{ page_size }] } = await client.execute('PRAGMA page_size')
  const pages = `${target}.pages`
  const log = new LogReader(file.path, Number(page_size), pages)
  try {
    const copy = await open(target, 'wx+', 0o600)
    try {
      await betweenCommits(async () => {
        const { pages, isWhole } = await foldLog(client)
        if (pages < 0 || !isWhole) throw new Error('The log of the database could not be folded')
        await client.execute('PRAGMA wal_autocheckpoint = 0')
        log.begin()
      })
      const ending = new AbortController()
      const copying = copyPieces(file, copy, AbortSignal.any(signal ? [signal, ending.signal] : [ending.signal]))
      const following = followLog(source, log, ending.signal)
      try {
        await Promise.race([copying, following])
        ending.abort()
        await following
      } finally {
        ending.abort()
        // Neither may use a file that is closed.
        await Promise.allSettled([copying, following])
        await betweenCommits(async () => {
          try {
            // The state of the copy.
            log.readOn()
          } finally {
            await client.execute(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
          }
        })
      }
      await log.applyTo(copy)
    } finally {
      await copy.close()
    }
  } catch (error) {
    await rm(target, { force: true })
    throw error
  } finally {
    log.close()
    await rm(pages, { force: true })
  }
}

/** Read the log and fold it when it is long, until `signal`. */
async function followLog(
  { client, betweenCommits, requireSpace }: CopySource,
  log: LogReader,
  signal: AbortSignal,
): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    if (n % readingsPerLook === 0) await requireSpace?.()
    // What was written while a piece was read comes with the next one, so this takes a while on a busy grid only.
    while (log.readPiece()) await new Promise<void>(nextIteration)
    if (log.readBytes >= copyLogPages * log.pageBytes) {
      await betweenCommits(async () => {
        log.readOn()
        const { pages, isWhole } = await foldLog(client)
        if (isWhole) log.folded(pages)
      })
    }
    await sleep(readLogMs)
  }
}

/** What the file contains when the copy begins; what is appended later is in the log. */
async function copyPieces(file: DatabaseFile, copy: FileHandle, signal: AbortSignal): Promise<void> {
  const { bytes } = file
  for (let at = 0, unsynced = 0; at < bytes;) {
    signal.throwIfAborted()
    const startedAt = performance.now()
    const piece = file.read(at, Math.min(pieceBytes, bytes - at))
    if (piece.length === 0) throw new Error('The database file became shorter')
    await writeAt(copy, at, piece)
    at += piece.length
    unsynced += piece.length
    if (unsynced >= maxUnsyncedBytes) {
      await copy.datasync()
      unsynced = 0
    }
    await sleep(performance.now() - startedAt)
  }
}
