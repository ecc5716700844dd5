/** Creates scheduled backups. */
import { hour, minute } from '../lib/time.ts'
import { makeBackup } from '../store/backup/backup-file.ts'
import { backupsIn, pathInFolder, removeOldBackups, requireWritable, temporaryFolder } from '../store/backup/files.ts'
import { localPath, workFolderOf } from '../store/driver/local-file.ts'
import { explainedFolder } from '../store/start-error.ts'
import type { BackupHistory } from '../store/global/backups.ts'
import type { Store } from '../store/store.ts'

/** Maximum time from a failure or a crash to the next attempt, even if no backup is scheduled that early. */
const maxRetryMs = hour

/**
 * Creates a backup if one is due, and removes the oldest ones. Updates the backup history `store.backups`. If there are
 * several processes, one of them makes the backup, in its own folder. Failures are logged and recorded, and the call
 * succeeds nevertheless. At the start, an unwritable folder counts as a failure, and a backup that failed earlier is
 * retried.
 */
export async function backUpIfDue(store: Store, isStart = false): Promise<void> {
  const { deps: { config, now, log }, global: { backups }, instanceId } = store
  const { failed: known } = store.backups
  store.backups = await historyOf(store)
  const { backupDir, backupEverySeconds, backupKeep } = config
  if (backupDir === undefined) return

  const at = now()
  const everyMs = backupEverySeconds * 1_000
  const { failed } = store.backups
  if (failed && failed.at !== known?.at) log.error('The last scheduled backup failed', { ...failed })
  const noteFailed = async (error: unknown) => {
    const reason = explainedFolder(error, backupDir) ?? (error instanceof Error ? error.message : String(error))
    log.error('A scheduled backup failed', { reason, error })
    await store.write([backups.noteFailed({ at, reason })])
    store.backups = await historyOf(store)
  }
  if (isStart) {
    const closed = await requireWritable(backupDir).then(() => undefined, (error: unknown) => error)
    if (closed !== undefined) return await noteFailed(closed)
  }
  // Not retried at the start if the server ended during the backup, because it might crash again.
  const isTriedAgain = isStart && failed !== undefined && failed.process === undefined
  const waitMs = failed ? Math.min(everyMs, maxRetryMs) : everyMs
  // Ignores times further in the future, because they come from a clock that was wrong.
  const isRecent = (time: number) => Math.abs(at - time) < waitMs
  const waits = failed ? isRecent(failed.at) : (await backupsIn(backupDir)).some((backup) => isRecent(backup.at))
  if (waits && !isTriedAgain) return
  // A local file has only one process. Without a recent backup, its backup folder is new, so older claims do not count.
  const [claimed] = await store.write([backups.claim(at, store.durability === 'remote' ? waitMs - minute : minute / 2)])
  // Another process has already made the backup, or is making it.
  if (claimed.length === 0) return

  // This record remains if the process ends during the backup.
  await store.write([backups.noteFailed({ at, reason: 'The server ended during the backup.', process: instanceId })])
  try {
    const { schema, ...made } = await make(store, backupDir, at)
    await store.write(backups.noteMade({ at, ...made, schema }))
    await removeOldBackups(backupDir, backupKeep, made.file)
    log.info('A backup was made', made)
  } catch (error) {
    if (store.deps.stopping?.aborted) return
    return await noteFailed(error)
  }
  store.backups = await historyOf(store)
}

/** Returns the backup history. A backup in progress in another process does not count as failed. */
async function historyOf({ global: { backups, instances } }: Store): Promise<BackupHistory> {
  const { made, failed } = await backups.history()
  const isRunning = failed?.process !== undefined && (await instances.all()).some(({ id }) => id === failed.process)
  return isRunning ? { made } : { made, failed }
}

async function make(
  store: Store,
  folder: string,
  at: number,
): Promise<{ file: string; bytes: number; schema: number }> {
  const { databaseUrl, backupKey, minFreeMegabytes } = store.deps.config
  const database = localPath(databaseUrl)
  const file = await pathInFolder(folder, at)
  const { bytes, manifest: { schema } } = await makeBackup({
    path: file,
    // The settings require either a key or an explicit choice of unencrypted backups.
    key: backupKey === undefined ? 'plain' : { passphrase: backupKey },
    madeAt: at,
    copyTo: (target) => store.copyTo(target),
    workFolder: database === undefined ? await temporaryFolder('copy', at) : workFolderOf(database),
    thread: true,
    minFreeBytes: minFreeMegabytes * 2 ** 20,
  })
  return { file, bytes, schema }
}
