/** The account activity log: an append-only chain of rows. */
import { asc, desc, eq, gt } from 'drizzle-orm'
import { createHash } from 'node:crypto'
import { activity } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { mine, own, p, type Scope } from '../driver/binding.ts'
import { activityFields, prepareActivityList } from './activity-list.ts'

/** One row of the log. `arguments` is JSON without secrets, `createdAt` milliseconds since the epoch. */
export type Activity = Omit<typeof activity.$inferSelect, 'accountId'>

/** A row before it has its place in the chain. */
export type NewActivity = Omit<Activity, 'n' | 'previousHash' | 'hash'>

/** The hash before the first row. */
const genesis = ''

/** The row in its place behind `head`. */
export function chained(
  accountId: string,
  entry: NewActivity,
  head: Pick<Activity, 'n' | 'hash'> | undefined,
): Activity {
  const row = { ...entry, n: (head?.n ?? 0) + 1, previousHash: head?.hash ?? genesis }
  return { ...row, hash: rowHash(accountId, row) }
}

/** SHA-256 over everything the row says and the hash of the row before it. */
function rowHash(accountId: string, row: Omit<Activity, 'hash'>): string {
  const covered = [
    row.previousHash,
    accountId,
    row.n,
    row.id,
    row.createdAt,
    row.actorType,
    row.userId,
    row.credentialId,
    row.credentialKind,
    row.tool,
    row.arguments,
    row.outcome,
    row.requestId,
  ]
  return createHash('sha256').update(JSON.stringify(covered)).digest('hex')
}

export function prepareActivity(db: Db) {
  const head = db.select(activityFields).from(activity).where(own(activity)).orderBy(desc(activity.n)).limit(1)
    .prepare()
  const after = db.select(activityFields).from(activity).where(own(activity, gt(activity.n, p('n'))))
    .orderBy(asc(activity.n)).limit(1_000).prepare()
  const has = db.select({ n: activity.n }).from(activity)
    .where(own(activity, gt(activity.n, p('n')), eq(activity.id, p('id')))).prepare()
  const listed = prepareActivityList(db)
  const add = db.insert(activity).values(mine({
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
    reads: (scope: Scope) => ({
      head: (): Promise<Activity | undefined> => scope.one(head),
      /** Whether the row with this id stands behind the place `n`. */
      has: async (id: string, n: number) => (await scope.one(has, { id, n })) !== undefined,
      ...listed(scope),
      /**
       * The place of the first row that was changed, moved, slipped in or is missing; undefined when the chain
       * holds. Rows cut off at its end are seen only by who knows an earlier head.
       */
      async firstBroken(): Promise<number | undefined> {
        let last: Activity | undefined
        for (;;) {
          const rows: Activity[] = await scope.all(after, { n: last?.n ?? Number.MIN_SAFE_INTEGER })
          if (rows.length === 0) return undefined
          for (const row of rows) {
            const expected = chained(scope.accountId, row, last)
            if (row.n !== expected.n || row.previousHash !== expected.previousHash || row.hash !== expected.hash) {
              return expected.n
            }
            last = row
          }
        }
      },
    }),
    changes: (scope: Scope) => ({
      /** A constraint error when another row took the place. */
      add: (row: Activity) => scope.bind(add, { ...row }),
    }),
  }
}
