/** The account activity log: an append-only chain of rows. See docs/security.md, "Activity log". */
import { asc, desc, eq, gt } from 'drizzle-orm'
import { activity } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, withAccount } from '../in-account.ts'
import { type Activity, activityFields, chained } from './activity-chain.ts'
import { prepareActivityList } from './activity-list.ts'

export function prepareActivity(db: Db) {
  const head = db.select(activityFields).from(activity).where(inAccount(activity)).orderBy(desc(activity.n)).limit(1)
    .prepare()
  const after = db.select(activityFields).from(activity).where(inAccount(activity, gt(activity.n, p('n'))))
    .orderBy(asc(activity.n)).limit(1_000).prepare()
  const has = db.select({ n: activity.n }).from(activity)
    .where(inAccount(activity, gt(activity.n, p('n')), eq(activity.id, p('id')))).prepare()
  const listed = prepareActivityList(db)
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
      /**
       * The position of the first row that was changed, moved, inserted or removed; undefined if the chain is intact.
       * Rows missing at its end can only be noticed with an earlier head.
       */
      async firstBroken(): Promise<number | undefined> {
        let last: Activity | undefined
        for (;;) {
          const rows: Activity[] = await account.all(after, { n: last?.n ?? Number.MIN_SAFE_INTEGER })
          if (rows.length === 0) return undefined
          for (const row of rows) {
            const expected = chained(account.accountId, row, last)
            if (row.n !== expected.n || row.previousHash !== expected.previousHash || row.hash !== expected.hash) {
              return expected.n
            }
            last = row
          }
        }
      },
    }),
    changes: (account: AccountBinding) => ({
      /** A constraint error if the position is taken. */
      add: (row: Activity) => account.bind(add, { ...row }),
    }),
  }
}
