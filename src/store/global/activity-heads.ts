import { and, asc, eq, gt, gte, sql } from 'drizzle-orm'
import { accounts, activity, storeFacts } from '../../../db/schema.ts'
import { bind, p, runQuery, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** Key of the fact: when heads were last written to the process log. */
const loggedAtKey = 'activity_heads_logged_at'

/** The newest row of each account's activity log. Only its position and hash leave these queries. */
export function prepareActivityHeads(db: Db, crossAccountQueries: CrossAccountQueries) {
  const newest = sql`(SELECT max(newer.n) FROM ${activity} AS newer WHERE newer.account_id = ${accounts.id})`
  const changed = db.select({ accountId: activity.accountId, n: activity.n, hash: activity.hash }).from(accounts)
    .innerJoin(activity, and(eq(activity.accountId, accounts.id), eq(activity.n, newest)))
    .where(and(gt(accounts.id, p('after')), gte(activity.createdAt, p('since'))))
    .orderBy(asc(accounts.id)).limit(p('limit')).prepare()
  crossAccountQueries.set(changed.getQuery().sql, 'heads of activity logs')

  const last = db.select({ value: storeFacts.value }).from(storeFacts).where(eq(storeFacts.key, p('key'))).prepare()
  const setFact = db.insert(storeFacts).values({ key: p('key'), value: p('at') })
    .onConflictDoUpdate({ target: storeFacts.key, set: { value: sql`excluded.value` } }).toSQL()

  return {
    /** Heads created at `since` or later, of accounts with an id after `after`, ordered by account id. */
    changed: (since: number, after: string, limit: number) => runQuery(changed, { since, after, limit }),
    /** When heads were last logged; 0 if never. */
    loggedAt: async () => Number((await runQuery(last, { key: loggedAtKey }))[0]?.value ?? 0),
    setLoggedAt: (at: number): Statement => bind(setFact, { key: loggedAtKey, at: String(at) }),
  }
}
