/** The account activity log: append-only rows. See docs/security.md, "Activity log". */
import { desc, eq, gt, gte, lt, notExists, sql } from 'drizzle-orm'
import { activity } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account.ts'
import { type Activity, prepareActivityList } from './activity-list.ts'

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

export function prepareActivity(db: Db) {
  const has = db.select({ n: activity.n }).from(activity).where(inAccount(activity, eq(activity.id, p('id')))).prepare()
  const listed = prepareActivityList(db)
  // The rows of the hour are behind the newest row before it, so few are looked at, however long a session is.
  const earlier = db.select({ n: activity.n }).from(activity)
    .where(inAccount(activity, lt(activity.createdAt, p('since')))).orderBy(desc(activity.createdAt), desc(activity.n))
    .limit(1)
  const reading = db.select({ n: activity.n }).from(activity).where(inAccount(
    activity,
    eq(activity.credentialId, p('session')),
    gt(activity.n, sql`coalesce((${earlier}), 0)`),
    gte(activity.createdAt, p('since')),
    eq(activity.tool, p('tool')),
    eq(activity.outcome, sql`'ok'`),
    sql`json_extract(${activity.arguments}, '$.subject') = ${p('subject')}`,
  ))
  const oneReading = reading.limit(1).prepare()
  const requireNoReading = precondition(db, notExists(reading))
  const newest = db.select({ n: sql`coalesce(max(${activity.n}), 0)` }).from(activity).where(inAccount(activity))
  const add = db.insert(activity).values(withAccount({
    n: sql`(${newest}) + 1`,
    id: p('id'),
    createdAt: p('createdAt'),
    actorType: p('actorType'),
    userId: p('userId'),
    credentialId: p('credentialId'),
    credentialKind: p('credentialKind'),
    tool: p('tool'),
    arguments: p('arguments'),
    outcome: p('outcome'),
    requestId: p('requestId'),
  })).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /** Whether there is a row with this id. */
      has: async (id: string) => (await account.one(has, { id })) !== undefined,
      ...listed(account),
      /** Whether the log has the reading. */
      hasReading: async (reading: LoggedReading) => (await account.one(oneReading, { ...reading })) !== undefined,
    }),
    changes: (account: AccountBinding) => ({
      /** Fails the unit if the log has the reading when it runs. */
      requireNoReading: (reading: LoggedReading) => account.bind(requireNoReading, { ...reading }),
      /** A constraint error if there is a row with this id. */
      add: (row: NewActivity) => account.bind(add, { ...row }),
    }),
  }
}
