/** Statistics of an account. */
import { and, count, eq, isNull, sql } from 'drizzle-orm'
import { agentNumbers, agents, deliveries, messages } from '../../../db/schema.ts'
import { hour } from '../../lib/time.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'
import { maxCounted } from './attention.ts'

export function prepareOverview(db: Db) {
  // One range of the index for each hour. GROUP BY takes ten times as long.
  const inHour = db.select({ n: count() }).from(messages)
    .where(
      inAccount(
        messages,
        sql`${messages.createdAt} >= hours.value`,
        sql`${messages.createdAt} < hours.value + ${p('hour')}`,
      ),
    )
  const sentPerHour = db.select({ at: sql<number>`hours.value`, count: sql<number>`(${inHour})` })
    .from(sql`json_each(${p('hours')}) AS hours`).prepare()
  // One search for each inbox. Written out, not bound: only then may the planner use the partial index.
  const some = db.select({ one: sql`1`.as('one') }).from(deliveries)
    .where(and(eq(deliveries.inbox, agentNumbers.n), sql`${deliveries.state} = 'unread'`)).limit(maxCounted).as('some')
  const inboxes = db.select({ unread: sql<number>`(SELECT count(*) FROM ${some})`.as('unread') })
    .from(agentNumbers).where(inAccount(agentNumbers)).as('inboxes')
  const unread = db.select({
    unread: sql<number>`coalesce(sum(${inboxes.unread}), 0)`,
    isMore: sql<boolean>`coalesce(max(${inboxes.unread}), 0) >= ${maxCounted}`.mapWith(Boolean),
  }).from(inboxes).prepare()
  // Counted together in one pass over the agents.
  const agentCounts = db.select({
    total: count(),
    seen: sql<number>`count(CASE WHEN ${agents.lastSeenAt} >= ${p('since')} THEN 1 END)`,
  }).from(agents).where(inAccount(agents, isNull(agents.deletedAt))).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** How many messages the account sent in each of these hours, given by their first millisecond. */
      sentPerHour: (hours: number[]): Promise<{ at: number; count: number }[]> =>
        account.all(sentPerHour, { hours: JSON.stringify(hours), hour }),
      /** The unread messages of all agents together, each counted up to a limit; `isMore` if one has reached it. */
      unread: async () => (await account.one(unread))!,
      /** How many live agents there are, and how many of them were seen since a time. */
      agents: async (since: number) => (await account.one(agentCounts, { since }))!,
    }),
    changes: () => ({}),
  }
}
