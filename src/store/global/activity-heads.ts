import { and, asc, eq, gt, gte, sql } from 'drizzle-orm'
import { accounts, activity, storeFacts } from '../../../db/schema.ts'
import type { Crossings, Db } from '../account.ts'
import { ask, bind, p, type Statement } from '../driver/binding.ts'

/** The fact that says until when heads were written to the process's log. */
const loggedAt = 'activity_heads_logged_at'

/** The newest row of each account's activity log: its place and hash, and nothing else, leaves this look-up. */
export function prepareActivityHeads(db: Db, crossings: Crossings) {
  const newest = sql`(SELECT max(newer.n) FROM ${activity} AS newer WHERE newer.account_id = ${accounts.id})`
  const changed = db.select({ accountId: activity.accountId, n: activity.n, hash: activity.hash }).from(accounts)
    .innerJoin(activity, and(eq(activity.accountId, accounts.id), eq(activity.n, newest)))
    .where(and(gt(accounts.id, p('after')), gte(activity.createdAt, p('since'))))
    .orderBy(asc(accounts.id)).limit(p('limit')).prepare()
  crossings.set(changed.getQuery().sql, 'heads of activity logs')

  const last = db.select({ value: storeFacts.value }).from(storeFacts).where(eq(storeFacts.key, p('key'))).prepare()
  const note = db.insert(storeFacts).values({ key: p('key'), value: p('at') })
    .onConflictDoUpdate({ target: storeFacts.key, set: { value: sql`excluded.value` } }).toSQL()

  return {
    /** Heads whose row was made at `since` or later, of accounts whose id is behind `after`, in the order of ids. */
    changed: (since: number, after: string, limit: number) => ask(changed, { since, after, limit }),
    /** When heads were last noted as logged; 0 before the first time. */
    loggedAt: async () => Number((await ask(last, { key: loggedAt }))[0]?.value ?? 0),
    noteLogged: (at: number): Statement => bind(note, { key: loggedAt, at: String(at) }),
  }
}
