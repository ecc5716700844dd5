import type { Config } from '../../config.ts'
import { day, hour, second } from '../../lib/time.ts'
import { backupsIn } from '../../store/backup/files.ts'
import { isPublic } from './addresses.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Whether scheduled backups are made. */
export async function checkBackups(config: Config): Promise<Finding> {
  if (config.backupDir === undefined) {
    const found = 'No backups are made here.'
    const action = 'Set BACKUP_DIR to a folder on another disk; see "Backup and restore" in docs/operations.md.'
    return isPublic(config) ? warning('backups', found, action) : ok('backups', found)
  }
  const [newest] = await backupsIn(config.backupDir)
  if (!newest) {
    const action = 'Check that the folder is right, and the log for a failed backup.'
    return warning('backups', 'BACKUP_DIR has no backup.', action)
  }
  const age = Date.now() - newest.at
  const found = `The newest backup is ${newest.path}, ${Math.floor(age / hour)} hours old.`
  return age > Math.max(2 * config.backupEverySeconds * second, day)
    ? warning('backups', found, 'See the log for failed backups.')
    : ok('backups', found)
}
