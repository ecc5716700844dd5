/** What users do not want to be shown for a while among what needs a person. */
import { eq, gt, sql } from 'drizzle-orm'
import { snoozes } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account-old.ts'

/** A snooze of one user. `until` is in milliseconds since the epoch; `level` is how bad it was. */
export interface Snooze {
  kind: string
  subject: string
  until: number
  level: number
}

export function prepareSnoozes(db: Db) {
  const ofUser = eq(snoozes.userId, p('user'))
  const list = db.select({
    kind: snoozes.kind,
    subject: snoozes.subject,
    until: snoozes.until,
    level: snoozes.level,
  }).from(snoozes).where(inAccount(snoozes, ofUser, gt(snoozes.until, p('at')))).prepare()
  const put = db.insert(snoozes).values(withAccount({
    userId: p('user'),
    kind: p('kind'),
    subject: p('subject'),
    until: p('until'),
    level: p('level'),
  })).onConflictDoUpdate({
    target: [snoozes.accountId, snoozes.userId, snoozes.kind, snoozes.subject],
    set: { until: sql`excluded.until`, level: sql`excluded.level` },
  }).toSQL()
  const remove = db.delete(snoozes)
    .where(inAccount(snoozes, ofUser, eq(snoozes.kind, p('kind')), eq(snoozes.subject, p('subject')))).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** What a user has snoozed beyond `at`. */
      ofUser: (user: string, at: number): Promise<Snooze[]> => account.all(list, { user, at }),
    }),
    changes: (account: AccountBinding) => ({
      /** Snooze something, in place of an earlier snooze of the same. */
      put: (user: string, snooze: Snooze) => account.bind(put, { user, ...snooze }),
      remove: (user: string, kind: string, subject: string) => account.bind(remove, { user, kind, subject }),
    }),
  }
}
