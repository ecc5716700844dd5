/** The account activity log: an append-only chain of rows. See docs/security.md, "Activity log". */
import { asc, desc, eq, gt, gte, lt, notExists, sql } from 'drizzle-orm'
import { activity } from '../../../db/schema.ts'
import { type AccountBinding, p, precondition } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account-old.ts'
import { type Activity, activityFields, firstBrokenRow } from './activity-chain.ts'
import { prepareActivityList } from './activity-list.ts'

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
  const head = db.select(activityFields).from(activity).where(inAccount(activity)).orderBy(desc(activity.n)).limit(1)
    .prepare()
  const after = db.select(activityFields).from(activity).where(inAccount(activity, gt(activity.n, p('n'))))
    .orderBy(asc(activity.n)).limit(1_000).prepare()
  const has = db.select({ n: activity.n }).from(activity)
    .where(inAccount(activity, gt(activity.n, p('n')), eq(activity.id, p('id')))).prepare()
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
  const add = db.insert(activity).values(withAccount({
    n: p('n'),
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
    previousHash: p('previousHash'),
    hash: p('hash'),
  })).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      head: (): Promise<Activity | undefined> => account.one(head),
      /** Whether the row with this id comes after position `n`. */
      has: async (id: string, n: number) => (await account.one(has, { id, n })) !== undefined,
      ...listed(account),
      /** Whether the log has the reading. */
      hasReading: async (reading: LoggedReading) => (await account.one(oneReading, { ...reading })) !== undefined,
      /**
       * The position of the first row that was changed, moved, inserted or removed; undefined if the chain is intact.
       * Rows missing at its end can only be noticed with an earlier head.
       */
      async firstBroken(): Promise<number | undefined> {
        let last: Activity | undefined
        for (;;) {
          const rows: Activity[] = await account.all(after, { n: last?.n ?? Number.MIN_SAFE_INTEGER })
          if (rows.length === 0) return undefined
          const broken = firstBrokenRow(account.accountId, rows, last)
          if (broken !== undefined) return broken
          last = rows.at(-1)
        }
      },
    }),
    changes: (account: AccountBinding) => ({
      /** Fails the unit if the log has the reading when it runs. */
      requireNoReading: (reading: LoggedReading) => account.bind(requireNoReading, { ...reading }),
      /** A constraint error if the position is taken. */
      add: (row: Activity) => account.bind(add, { ...row }),
    }),
  }
}
