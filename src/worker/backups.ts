/** Makes the scheduled backups. See docs/operations.md, "Scheduled backups". */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hour, minute } from '../lib/time.ts'
import { makeBackup } from '../store/backup/backup-file.ts'
import { backupsIn, pathInFolder, removeOldBackups } from '../store/backup/schedule.ts'
import { localPath, workFolderOf } from '../store/driver/local-file.ts'
import type { Store } from '../store/store.ts'

/** After a failure the next one is tried earlier than the schedule says. */
const retryMs = hour

/**
 * If a backup is due, make it and remove the oldest ones. `store.backups` then says what is known of the backups. Of
 * several processes one makes it, in its own folder. A failure is logged and noted, and does not fail the call.
 */
export async function backUpIfDue(store: Store): Promise<void> {
  const { deps: { config, now, log }, global: { backups } } = store
  store.backups = await backups.history()
  const { backupDir, backupEverySeconds, backupKeep } = config
  if (backupDir === undefined) return

  const at = now()
  const everyMs = backupEverySeconds * 1_000
  const { failed } = store.backups
  if (failed && at - failed.at < Math.min(everyMs, retryMs)) return
  const [newest] = await backupsIn(backupDir)
  if (!failed && newest && at - newest.at < everyMs) return
  const [claimed] = await store.write([
    backups.claim(at, at - (failed ? Math.min(everyMs, retryMs) : everyMs) + minute),
  ])
  // Another process has made it, or makes it now.
  if (claimed.length === 0) return

  try {
    const made = await make(store, backupDir, at)
    await store.write([backups.noteMade({ at, ...made })])
    await removeOldBackups(backupDir, backupKeep)
    log.info('A backup was made', made)
  } catch (error) {
    if (store.deps.stopping?.aborted) return
    log.error('A scheduled backup failed', { error })
    await store.write([backups.noteFailed({ at, reason: error instanceof Error ? error.message : String(error) })])
  }
  store.backups = await backups.history()
}

async function make(store: Store, folder: string, at: number): Promise<{ file: string; bytes: number }> {
  const { databaseUrl, backupKey } = store.deps.config
  const database = localPath(databaseUrl)
  const file = await pathInFolder(folder, at)
  const { bytes } = await makeBackup({
    path: file,
    // The settings require a key, or that it is said that there is none.
    key: backupKey === undefined ? 'plain' : { passphrase: backupKey },
    madeAt: at,
    copyTo: (target) => store.copyTo(target),
    workFolder: database === undefined ? join(tmpdir(), 'agent-grid-copy-') : workFolderOf(database),
    thread: true,
  })
  return { file, bytes }
}
