/** The account activity log: append-only rows. See docs/security.md, "Activity log". */
import { type AccountDb, precondition, query, statement } from '../sql.ts'
import { type Activity, activityList } from './activity-list.ts'

/** A row that has no position yet. */
export type NewActivity = Omit<Activity, 'n'>

/** A reading of messages, as the log has it once for each session, subject and hour. */
export interface LoggedReading {
  session: string
  tool: string
  /** The `subject` of the arguments. */
  subject: string
  /** The first millisecond of the hour. */
  since: number
}

const has = query<{ n: number }>(`SELECT n FROM activity WHERE account_id = :account AND id = :id`)
// The rows of the hour are behind the newest row before it, so few are looked at, however long a session is.
const reading = `
  SELECT activity.n FROM activity
  WHERE activity.account_id = :account AND activity.credential_id = :session
    AND activity.n > coalesce((SELECT activity.n FROM activity
      WHERE activity.account_id = :account AND activity.created_at < :since
      ORDER BY activity.created_at DESC, activity.n DESC LIMIT 1), 0)
    AND activity.created_at >= :since AND activity.tool = :tool AND activity.outcome = 'ok'
    AND json_extract(activity.arguments, '$.subject') = :subject`
const oneReading = query<{ n: number }>(`${reading} LIMIT 1`)
const requireNoReading = precondition(`NOT EXISTS (${reading})`)
const add = statement(`
  INSERT INTO activity (account_id, n, id, created_at, actor_type, user_id, credential_id, credential_kind, tool,
    arguments, outcome, request_id)
  VALUES (:account, (SELECT coalesce(max(n), 0) FROM activity WHERE account_id = :account) + 1, :id, :createdAt,
    :actorType, :userId, :credentialId, :credentialKind, :tool, :arguments, :outcome, :requestId)`)

export const activity = {
  reads: (account: AccountDb) => ({
    /** Whether there is a row with this id. */
    has: async (id: string) => (await account.one(has, { id })) !== undefined,
    ...activityList(account),
    /** Whether the log has the reading. */
    hasReading: async (reading: LoggedReading) => (await account.one(oneReading, { ...reading })) !== undefined,
  }),
  changes: (account: AccountDb) => ({
    /** Fails the unit if the log has the reading when it runs. */
    requireNoReading: (reading: LoggedReading) => account.bind(requireNoReading, { ...reading }),
    /** A constraint error if there is a row with this id. */
    add: (row: NewActivity) => account.bind(add, { ...row }),
  }),
}
