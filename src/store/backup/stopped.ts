/** Backups of databases that this process opens itself: a local file without a server, and a remote database. */
import type { Client } from '@libsql/client'
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { connect } from '../driver/remote-client.ts'
import { localPath, workFolderOf } from '../driver/local-file.ts'
import { openSnapshot } from '../driver/snapshot.ts'
import { noDatabase } from '../start-error.ts'
import { makeBackup, type NewBackup } from './backup-file.ts'
import { copyFile, lockDatabase, type Manifest } from './local-copy.ts'
import { bytesOf, copySnapshot } from './copier.ts'
import { requireSpace, temporaryFolder } from './files.ts'
import type { DatabaseAddress } from './fill.ts'
import { backups } from '../global/backups.ts'
import { Db } from '../sql.ts'

/**
 * Back a database up without migrating it, so that a newer program can back up what an older one left. Fails with
 * `database_in_use` if a server holds the local file, and with a `BackupExistsError`.
 */
export async function backUpStopped(
  database: DatabaseAddress,
  backup: Pick<NewBackup, 'path' | 'key' | 'madeAt' | 'minFreeBytes'>,
): Promise<{ manifest: Manifest; bytes: number }> {
  const path = localPath(database.url)
  // A database whose schema is too old for it says nothing of its backups.
  const note = async (client: Client, { bytes }: { bytes: number }) => {
    const made = backups(new Db(client)).noteMade({ at: backup.madeAt, file: backup.path, bytes })
    for (const statement of made) await client.execute(statement).catch(() => {})
  }
  if (path !== undefined) {
    if (!existsSync(path)) throw noDatabase(path)
    const { client, release } = await lockDatabase(path)
    try {
      const made = await makeBackup({
        ...backup,
        async copyTo(target) {
          await requireSpace(dirname(target), bytesOf(path), backup.minFreeBytes)
          await copyFile({ path, target })
        },
        workFolder: workFolderOf(path),
        thread: false,
      })
      await note(client, made)
      return made
    } finally {
      await release()
    }
  }
  const made = await makeBackup({
    ...backup,
    copyTo: (target) => copySnapshot(() => openSnapshot(database), target),
    workFolder: await temporaryFolder('copy', backup.madeAt),
    thread: false,
  })
  const client = connect({ ...database, intMode: 'number' })
  await note(client, made).finally(() => client.close())
  return made
}
