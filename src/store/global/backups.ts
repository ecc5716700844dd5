import { eq, inArray, sql } from 'drizzle-orm'
import { storeFacts } from '../../../db/schema.ts'
import { minute } from '../../lib/time.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'

/** Keys of the facts: the newest backup, and the newest one that failed. Their values are JSON. */
const [madeKey, failedKey] = ['backup', 'backup_failed']
/** When the last scheduled backup began, in milliseconds since the epoch; see `claim`. */
const claimedKey = 'backup_claimed'

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
  }).toSQL()
  const forget = db.delete(storeFacts).where(eq(storeFacts.key, failedKey)).toSQL()
  const claim = db.insert(storeFacts).values({ key: claimedKey, value: p('at') }).onConflictDoUpdate({
    target: storeFacts.key,
    set: { value: sql`excluded.value` },
    setWhere: sql`abs(CAST(${storeFacts.value} AS integer) - ${p('now')}) >= ${p('waitMs')}`,
  }).returning({ key: storeFacts.key }).toSQL()

  return {
    /** The newest backup, made by the schedule or by a command. */
    async history(): Promise<BackupHistory> {
      const facts = new Map((await runQuery(stored)).map(({ key, value }) => [key, value]))
      const read = (key: string) => facts.has(key) ? JSON.parse(facts.get(key)!) : undefined
      const made: MadeBackup | undefined = read(madeKey)
      const failed: FailedBackup | undefined = read(failedKey)
      return { made, failed }
    },
    /** Also forgets the one that failed. */
    noteMade: (made: MadeBackup): Statement[] => [
      bind(note, { key: madeKey, value: JSON.stringify(made) }),
      bind(forget, {}),
    ],
    noteFailed: (failed: FailedBackup): Statement => bind(note, { key: failedKey, value: JSON.stringify(failed) }),
    /**
     * Claim the next scheduled backup: of several processes one makes it. Returns a row if nobody has made one for
     * `everyMs`, and nobody has claimed one for `retryMs`. A time that is as far ahead is from a clock that was wrong.
     */
    claim: (now: number, { everyMs, retryMs }: { everyMs: number; retryMs: number }): Statement =>
      bind(claim, { at: String(now - everyMs + retryMs), now, waitMs: everyMs - minute }),
    /** The claimed backup, which began at `at`, was made. */
    keepClaim: (at: number): Statement => bind(note, { key: claimedKey, value: String(at) }),
  }
}
