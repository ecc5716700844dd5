/**
 * The lock of a local file, which allows one process at a time.
 *
 * It is an SQLite lock on a separate file, so it works the same on every runtime, ends with the process, and lets other
 * processes read the database. No other code may open this file or the database, because under POSIX, closing a second
 * descriptor of a file drops the process's locks on it.
 */
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Deps } from '../../deps.ts'
import { StartError } from '../start-error.ts'
import { isBusy } from './database-errors.ts'
import { FileClient } from './file-client.ts'
import { createFile, databaseInUse, fileBehind, giveTo } from './local-file.ts'

export interface FileLock {
  release(): Promise<void>
}

interface LockWait extends Pick<Deps, 'now' | 'log' | 'stopping'> {
  waitSeconds: number
}

/** Locks a local file, which need not exist. Fails with `database_in_use` and `database_linked`. */
export async function lockFile(path: string, wait?: LockWait): Promise<FileLock> {
  const file = fileBehind(path)
  requireOneName(file)
  const lock = `${file}.lock`
  if (!existsSync(lock)) {
    createFile(lock)
    giveTo(lock, existsSync(file) ? file : dirname(file))
  }
  const until = wait && wait.now() + wait.waitSeconds * 1_000
  for (let tries = 1;; tries++) {
    const client = new FileClient(lock)
    try {
      await client.execute('PRAGMA locking_mode = EXCLUSIVE')
      await client.execute('PRAGMA journal_mode = OFF')
      // In this locking mode, the write lock is kept after it was first taken.
      await client.batch(['SELECT 1'], 'write')
      return {
        async release() {
          if (client.closed) return
          // In this mode, the next access releases the lock. Closing alone releases it only at garbage collection.
          await client.execute('PRAGMA locking_mode = NORMAL')
          await client.execute('SELECT count(*) FROM sqlite_master')
          client.close()
        },
      }
    } catch (error) {
      client.close()
      if (!isBusy(error)) throw error
      if (!wait || wait.now() >= until! || wait.stopping?.aborted) throw databaseInUse(path)
      if (tries === 1) wait.log.warn('Waiting for another process to release the database', { path })
      await sleep(250)
    }
  }
}

/** Refuses a file with several names, because each name could have its own lock and log next to it. */
function requireOneName(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found?.isFile() || found.nlink <= 1) return
  throw new StartError(
    'database_linked',
    `The database ${file} has ${found.nlink} names (hard links), and a log belongs to one. Copy it to a file of its own, or ` +
      'remove the other names.',
  )
}
