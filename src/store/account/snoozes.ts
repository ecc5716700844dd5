/** What users do not want to be shown for a while among what needs a person. */
import { type AccountDb, query, statement } from '../sql.ts'

/** A snooze of one user. `until` is in milliseconds since the epoch; `level` is how bad it was. */
export interface Snooze {
  kind: string
  subject: string
  until: number
  level: number
}

const ofUser = query<Snooze>(`
  SELECT kind, subject, until, level FROM snoozes WHERE account_id = :account AND user_id = :user AND until > :at`)
const put = statement(`
  INSERT INTO snoozes (account_id, user_id, kind, subject, until, level)
  VALUES (:account, :user, :kind, :subject, :until, :level)
  ON CONFLICT (account_id, user_id, kind, subject) DO UPDATE SET until = excluded.until, level = excluded.level`)
const remove = statement(`
  DELETE FROM snoozes WHERE account_id = :account AND user_id = :user AND kind = :kind AND subject = :subject`)

export const snoozes = {
  reads: (account: AccountDb) => ({
    /** What a user has snoozed beyond `at`. */
    ofUser: (user: string, at: number): Promise<Snooze[]> => account.all(ofUser, { user, at }),
  }),
  changes: (account: AccountDb) => ({
    /** Snooze something, in place of an earlier snooze of the same. */
    put: (user: string, snooze: Snooze) => account.bind(put, { user, ...snooze }),
    remove: (user: string, kind: string, subject: string) => account.bind(remove, { user, kind, subject }),
  }),
}
