import { inArray, sql } from 'drizzle-orm'
import { storeFacts } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** Keys of the facts: the newest backup, and the newest one that failed. Their values are JSON. */
const [madeKey, failedKey] = ['backup', 'backup_failed']

/** A backup that was made. */
export interface MadeBackup {
  /** When it was begun, in milliseconds since the epoch. */
  at: number
  /** Its path on the machine that made it. */
  file: string
  bytes: number
}

/** A scheduled backup that failed. */
export interface FailedBackup {
  at: number
  reason: string
}

/** What is known of the backups of this database. */
export interface BackupHistory {
  made?: MadeBackup
  /** Absent if a newer one was made. */
  failed?: FailedBackup
}

/** When the last backup of the database was made, and why the last one failed. */
export function prepareBackups(db: Db) {
  const stored = db.select({ key: storeFacts.key, value: storeFacts.value }).from(storeFacts)
    .where(inArray(storeFacts.key, [madeKey, failedKey])).prepare()
  const note = db.insert(storeFacts).values({ key: p('key'), value: p('value') }).onConflictDoUpdate({
    target: storeFacts.key,
    set: { value: sql`excluded.value` },
    setWhere: sql`json_extract(excluded.value, '$.at') > json_extract(${storeFacts.value}, '$.at')`,
  }).toSQL()
  const claim = db.insert(storeFacts).values({ key: 'backup_claimed', value: p('at') }).onConflictDoUpdate({
    target: storeFacts.key,
    set: { value: sql`excluded.value` },
    setWhere: sql`CAST(${storeFacts.value} AS integer) < ${p('before')}`,
  }).returning({ key: storeFacts.key }).toSQL()

  return {
    /** The newest backup, made by the schedule or by a command. */
    async history(): Promise<BackupHistory> {
      const facts = new Map((await runQuery(stored)).map(({ key, value }) => [key, value]))
      const read = (key: string) => facts.has(key) ? JSON.parse(facts.get(key)!) : undefined
      const made: MadeBackup | undefined = read(madeKey)
      const failed: FailedBackup | undefined = read(failedKey)
      return { made, failed: failed && (!made || failed.at > made.at) ? failed : undefined }
    },
    noteMade: (made: MadeBackup): Statement => bind(note, { key: madeKey, value: JSON.stringify(made) }),
    noteFailed: (failed: FailedBackup): Statement => bind(note, { key: failedKey, value: JSON.stringify(failed) }),
    /**
     * Claim the next scheduled backup: of several processes one makes it. Returns a row if nobody has claimed one since
     * `before`.
     */
    claim: (at: number, before: number): Statement => bind(claim, { at: String(at), before }),
  }
}
