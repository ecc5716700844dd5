/** Makes the scheduled backups. */
import { hour, minute } from '../lib/time.ts'
import { makeBackup } from '../store/backup/backup-file.ts'
import { backupsIn, pathInFolder, removeOldBackups, requireWritable, temporaryFolder } from '../store/backup/files.ts'
import { localPath, workFolderOf } from '../store/driver/local-file.ts'
import { explainedFolder } from '../store/start-error.ts'
import type { BackupHistory } from '../store/global/backups.ts'
import type { Store } from '../store/store.ts'

/** After a failure or a crash the next one is tried earlier than the schedule says. */
const maxRetryMs = hour

/**
 * If a backup is due, make it and remove the oldest ones. `store.backups` then says what is known of the backups. Of
 * several processes one makes it, in its own folder. A failure is logged and noted, and does not fail the call. At the
 * start a folder that cannot be written is a failure too, and one that failed earlier is tried again.
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
  // A server that ended during a backup may do so again.
  const isTriedAgain = isStart && failed !== undefined && failed.process === undefined
  const waitMs = failed ? Math.min(everyMs, maxRetryMs) : everyMs
  // A time that is further ahead is from a clock that was wrong, and says nothing.
  const isRecent = (time: number) => Math.abs(at - time) < waitMs
  const waits = failed ? isRecent(failed.at) : (await backupsIn(backupDir)).some((backup) => isRecent(backup.at))
  if (waits && !isTriedAgain) return
  // The process of a local file is alone, so a folder without a recent backup is a new one.
  const [claimed] = await store.write([backups.claim(at, store.durability === 'remote' ? waitMs - minute : minute / 2)])
  // Another process has made it, or makes it now.
  if (claimed.length === 0) return

  // This stays if the process ends now.
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

/** What is known of the backups. One that another process still makes has not failed. */
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
    // The settings require a key, or that it is said that there is none.
    key: backupKey === undefined ? 'plain' : { passphrase: backupKey },
    madeAt: at,
    copyTo: (target) => store.copyTo(target),
    workFolder: database === undefined ? await temporaryFolder('copy', at) : workFolderOf(database),
    thread: true,
    minFreeBytes: minFreeMegabytes * 2 ** 20,
  })
  return { file, bytes, schema }
}
