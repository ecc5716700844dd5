/** Copies of the database of a store, or of any other, as one SQLite file. */
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GridError } from '../../errors.ts'
import { Semaphore } from '../../lib/limits/semaphore.ts'
import { copyFile, DatabaseFile } from '../driver/file-copy.ts'
import { type FileSystemSpace, spaceOf } from '../driver/disk-space.ts'
import { connect } from '../driver/local-client.ts'
import { releaseLocalFile } from '../driver/local-file.ts'
import type { Snapshot } from '../driver/snapshot.ts'
import type { Database } from '../open-database.ts'
import { fileUrl } from './copied-database.ts'
import { requireSpace } from './files.ts'
import { copyTables, finishCopy } from './tables.ts'

/** Makes copies of one database, one at a time. */
export interface Copier {
  /**
   * Write the state of one commit into a new SQLite file, with everything that was acknowledged before the call. Fails
   * with `storage_full` if there is no room for it, and when the copier is closed.
   */
  copyTo(target: string): Promise<void>
  /** End the copies that are made or wait. Resolves when they have ended. */
  stop(): Promise<void>
  /** Call it when the local file is released. */
  close(): void
}

interface CopierOptions {
  database: Pick<Database, 'client' | 'path' | 'openSnapshot'>
  /** Runs `work` while no statement of a unit runs. */
  betweenCommits<Result>(work: () => Promise<Result>): Promise<Result>
  /** How many bytes must stay free on the disk. */
  minFreeBytes: number
  /** Replaces the look at the file system (tests). */
  readSpace?: (folder: string) => Promise<FileSystemSpace>
}

const maxWaiting = 10

export function createCopier({ database, betweenCommits, minFreeBytes, readSpace = spaceOf }: CopierOptions): Copier {
  const { client, path, openSnapshot } = database
  const file = path === undefined ? undefined : new DatabaseFile(path)
  const one = new Semaphore({ maxConcurrent: 1, maxQueued: maxWaiting })
  const stopping = new AbortController()

  async function copyTo(target: string): Promise<void> {
    stopping.signal.throwIfAborted()
    if (!file) return await copySnapshot(openSnapshot, target, stopping.signal)
    const require = (bytes: number) => requireSpace(dirname(target), bytes, minFreeBytes, readSpace)
    await require(file.bytes)
    await copyFile({ client, file, betweenCommits, requireSpace: () => require(0) }, target, stopping.signal)
  }

  const tooMany = () => new GridError('unavailable', 'Too many backups wait. Repeat the call.')
  const running = new Set<Promise<unknown>>()
  return {
    copyTo(target) {
      const copied = one.run(() => copyTo(target), tooMany)
      const ended = copied.catch(() => {}).finally(() => running.delete(ended))
      running.add(ended)
      return copied
    },
    async stop() {
      stopping.abort(new GridError('unavailable', 'The process is stopping.'))
      await Promise.all(running)
    },
    close: () => file?.close(),
  }
}

/** Write what a snapshot shows into a new SQLite file. */
export async function copySnapshot(
  openSnapshot: () => Promise<Snapshot>,
  target: string,
  signal?: AbortSignal,
  onTable?: (table: string, rows: number) => void,
): Promise<void> {
  // Made before SQLite opens it, so that nobody else may read it.
  await (await open(target, 'wx', 0o600)).close()
  const client = connect({ url: fileUrl(target) })
  try {
    // A copy that a crash leaves is not used, so it needs no log. What makes it a database of the grid syncs it.
    for (const pragma of ['locking_mode = EXCLUSIVE', 'journal_mode = MEMORY', 'synchronous = OFF']) {
      await client.execute(`PRAGMA ${pragma}`)
    }
    const snapshot = await openSnapshot()
    try {
      await copyTables(snapshot, client, onTable, signal)
      await finishCopy(client)
    } finally {
      snapshot.close()
    }
    await releaseLocalFile(client)
    client.close()
  } catch (error) {
    client.close()
    await rm(target, { force: true })
    throw error
  }
}
