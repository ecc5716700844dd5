/** Opening a database file of which this process is the only user: a copy, or the file of a stopped grid. */
import type { Client } from '@libsql/client'
import { lockFile } from '../driver/file-lock.ts'
import { FileClient } from '../driver/file-client.ts'
import { releaseLocalFile, setPragmas } from '../driver/local-file.ts'

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
