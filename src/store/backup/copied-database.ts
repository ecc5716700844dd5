/** Opening a database file that belongs to nobody else: a copy, or one that is being restored. */
import type { Client } from '@libsql/client'
import { connect } from '../driver/local-client.ts'
import { lockLocalFile, releaseLocalFile } from '../driver/local-file.ts'
import { startThread } from '../driver/thread-connection.ts'

/**
 * Open the file, and leave it as one file without a log. With `wantsThread` its statements run on another thread, unless
 * none can start: integrity checks take seconds.
 */
export async function withDatabase<Result>(
  path: string,
  wantsThread: boolean,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const thread = wantsThread ? await startThread(path, () => {}).catch(() => undefined) : undefined
  const client = connect({ url: fileUrl(path), thread })
  try {
    // No other process may open it, and there is no file beside it for sharing.
    await client.execute('PRAGMA locking_mode = EXCLUSIVE')
    const result = await work(client)
    await releaseLocalFile(client)
    return result
  } finally {
    client.close()
  }
}

/**
 * Lock the local file of a grid that is stopped. Nothing is migrated. Fails with `database_in_use` if another process
 * holds the file.
 */
export async function lockDatabase(path: string): Promise<{ client: Client; release(): Promise<void> }> {
  const client = connect({ url: fileUrl(path) })
  try {
    await lockLocalFile(client, path, { durability: 'full', waitSeconds: 0, now: () => 0 })
  } catch (error) {
    client.close()
    throw error
  }
  return {
    client,
    async release() {
      await releaseLocalFile(client).catch(() => {})
      client.close()
    },
  }
}

/** Fold the log of a locked file, so that the file is whole without it. It stays locked. */
export async function removeLog(client: Client): Promise<void> {
  await client.execute('PRAGMA journal_mode = DELETE')
  await client.batch(['SELECT 1'], 'write')
}

/** The URL of a local file, in the form of `DATABASE_URL`. */
export function fileUrl(path: string): string {
  return `file:${encodeURIComponent(path).replaceAll('%2F', '/')}`
}
