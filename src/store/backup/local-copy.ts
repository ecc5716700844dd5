/** Copying a local file, and checking copies: each a job that a server runs on a thread. */
import type { Client } from '@libsql/client'
import { open } from 'node:fs/promises'
import { FileClient } from '../driver/file-client.ts'
import { lockFile } from '../driver/file-lock.ts'
import { releaseLocalFile, setPragmas } from '../driver/local-file.ts'
import { sync } from './files.ts'
import { type Content, inspect } from './inspect.ts'

/**
 * Write the state of one commit into a new SQLite file. Others write to the database meanwhile, and its log grows.
 *
 * The log is folded by the other connection alone: this version of SQLite can lose commits when one connection folds the
 * log while another writes. So this connection is never the last one, unless nobody else has the file.
 */
export async function copyFile({ path, target }: { path: string; target: string }): Promise<void> {
  // Made before SQLite opens it, so that nobody else may read it.
  await (await open(target, 'wx', 0o600)).close()
  const client = new FileClient(path)
  try {
    await client.executeMultiple(`PRAGMA wal_autocheckpoint = 0; VACUUM INTO '${target.replaceAll("'", "''")}'`)
  } finally {
    client.close()
  }
  await sync(target)
}

/** What a copy contains. Fails with an error that says what is wrong with it. */
export async function checkCopy({ path }: { path: string }): Promise<Content> {
  const client = new FileClient(path)
  try {
    return await inspect(client)
  } finally {
    client.close()
  }
}

/** Open a file that belongs to nobody else, and leave it as one file without a log. */
export async function withDatabase<Result>(path: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new FileClient(path)
  try {
    return await work(client)
  } finally {
    await releaseLocalFile(client)
  }
}

/**
 * Lock and open the local file of a grid that is stopped. Nothing is migrated. Fails with `database_in_use` if another
 * process holds the file.
 */
export async function lockDatabase(path: string): Promise<{ client: Client; release(): Promise<void> }> {
  const lock = await lockFile(path)
  const client = new FileClient(path)
  const release = async () => {
    await releaseLocalFile(client)
    await lock.release()
  }
  try {
    await setPragmas(client, 'full')
  } catch (error) {
    await release()
    throw error
  }
  return { client, release }
}
