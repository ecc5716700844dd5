/** Copies a store's database, or any other database, into one SQLite file. */
import { statSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { GridError } from '../../errors.ts'
import { Semaphore } from '../../lib/limits/semaphore.ts'
import { runOnThread } from '../../lib/run-on-thread.ts'
import type { DiskSpace, FileSystemSpace } from '../driver/disk-space.ts'
import { FileClient } from '../driver/file-client.ts'
import { fileBehind, releaseLocalFile } from '../driver/local-file.ts'
import type { Snapshot } from '../driver/snapshot.ts'
import type { Database } from '../open-database.ts'
import { requireSpace } from './files.ts'
import { copyFile } from './local-copy.ts'
import { copyTables, finishCopy } from './tables.ts'

interface Copier {
  /** Writes the state of one commit to a new SQLite file. Fails with `storage_full`, and `unavailable` after `stop`. */
  copyTo(target: string): Promise<void>
  /** Aborts copies of a remote database and queued copies, and waits for the copy of a local file. */
  stop(): Promise<void>
}

interface CopierOptions {
  database: Pick<Database, 'path' | 'openSnapshot'> & { storage: Pick<DiskSpace, 'copying'> }
  minFreeBytes: number
  readSpace?: (folder: string) => Promise<FileSystemSpace>
}

const maxWaiting = 10

export function createCopier({ database, minFreeBytes, readSpace }: CopierOptions): Copier {
  const { path, openSnapshot, storage } = database
  const one = new Semaphore({ maxConcurrent: 1, maxQueued: maxWaiting })
  const stopping = new AbortController()

  async function copyTo(target: string): Promise<void> {
    stopping.signal.throwIfAborted()
    if (path === undefined) {
      return await copySnapshot(openSnapshot, target, {
        signal: stopping.signal,
        requireSpace: (bytes) => requireSpace(dirname(target), bytes, minFreeBytes, readSpace),
      })
    }
    const bytes = bytesOf(path)
    await requireSpace(dirname(target), bytes, minFreeBytes, readSpace)
    storage.copying = () => Math.max(0, bytes - sizeOf(target))
    try {
      await runOnThread('copyFile', copyFile, { path, target })
    } catch (error) {
      throw Object(error).code === 'SQLITE_FULL' ? diskFull() : error
    } finally {
      storage.copying = undefined
    }
  }

  const tooMany = () => new GridError('unavailable', 'Too many backups are waiting. Repeat the call.')
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
  }
}

function diskFull(): GridError {
  return new GridError('storage_full', 'The disk of the database became full while a backup was made.')
}

/** The disk space that a copy of a local file may take, including the log, which grows during the copy. */
export function bytesOf(path: string): number {
  const file = fileBehind(path)
  return sizeOf(file) + sizeOf(`${file}-wal`)
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}

export async function copySnapshot(
  openSnapshot: () => Promise<Snapshot>,
  target: string,
  { requireSpace, signal, onTable }: {
    /** Called with the number of bytes that the copy may take. */
    requireSpace?: (bytes: number) => Promise<void>
    signal?: AbortSignal
    onTable?: (table: string, rows: number) => void
  } = {},
): Promise<void> {
  // The file is created before SQLite opens it, so that only its owner may read it.
  await (await open(target, 'wx', 0o600)).close()
  const client = new FileClient(target)
  try {
    // The copy needs no log, because a copy left by a crash is never used. A caller that turns the copy into a database
    // of the grid syncs it.
    for (const pragma of ['journal_mode = MEMORY', 'synchronous = OFF']) await client.execute(`PRAGMA ${pragma}`)
    const snapshot = await openSnapshot()
    try {
      const [[bytes]] = await snapshot.query('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size')
      await requireSpace?.(Number(bytes))
      await copyTables(snapshot, client, onTable, signal)
      await finishCopy(client)
    } finally {
      snapshot.close()
    }
    await releaseLocalFile(client)
  } catch (error) {
    client.close()
    await rm(target, { force: true })
    throw error
  }
}
