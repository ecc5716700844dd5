/**
 * Databases that this process opens itself (a local file without a server, or a remote database), and their backups.
 */
import type { Client } from '@libsql/client'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { lockFile } from '../driver/file-lock.ts'
import { localPath, releaseLocalFile, setPragmas, workFolderOf } from '../driver/local-file.ts'
import { connect } from '../driver/remote-client.ts'
import { openSnapshot } from '../driver/snapshot.ts'
import { noDatabase } from '../start-error.ts'
import { makeBackup, type NewBackup } from './backup-file.ts'
import { copyFile, type Manifest } from './local-copy.ts'
import { bytesOf, copySnapshot } from './copier.ts'
import { requireSpace, temporaryFolder } from './files.ts'
import type { DatabaseAddress } from './fill.ts'
import { backups } from '../global/backups.ts'
import { Db } from '../sql.ts'

/** Opens a database without migrating it, and locks a local file. Fails with `database_in_use`. */
export async function openStopped(
  settings: Parameters<typeof connect>[0],
  durability: 'full' | 'relaxed' = 'full',
): Promise<{ client: Client; close(): Promise<void> }> {
  const path = localPath(settings.url)
  const lock = path === undefined ? undefined : await lockFile(path)
  const client = connect({ ...settings, intMode: 'number' })
  const close = async () => {
    if (lock) await releaseLocalFile(client)
    else client.close()
    await lock?.release()
  }
  try {
    if (lock) await setPragmas(client, durability)
  } catch (error) {
    await close()
    throw error
  }
  return { client, close }
}

/** Backs up a database without migrating it. Fails with `database_in_use` or a `BackupExistsError`. */
export async function backUpStopped(
  database: DatabaseAddress,
  backup: Pick<NewBackup, 'path' | 'key' | 'madeAt' | 'minFreeBytes'>,
): Promise<{ manifest: Manifest; bytes: number }> {
  const path = localPath(database.url)
  if (path !== undefined && !existsSync(path)) throw noDatabase(path)
  const { client, close } = await openStopped(database)
  try {
    const made = await makeBackup({
      ...backup,
      async copyTo(target) {
        const hasSpace = (bytes: number) => requireSpace(dirname(target), bytes, backup.minFreeBytes)
        if (path === undefined) {
          return await copySnapshot(() => openSnapshot(database), target, { requireSpace: hasSpace })
        }
        await hasSpace(bytesOf(path))
        await copyFile({ path, target })
      },
      workFolder: path === undefined ? await temporaryFolder('copy', backup.madeAt) : workFolderOf(path),
      thread: false,
    })
    // A database with an older schema does not record its backups.
    const { manifest: { schema }, bytes } = made
    const noted = backups(new Db(client)).noteMade({ at: backup.madeAt, file: backup.path, bytes, schema })
    for (const statement of noted) await client.execute(statement).catch(() => {})
    return made
  } finally {
    await close()
  }
}
