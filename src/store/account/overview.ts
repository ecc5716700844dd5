/** Statistics of an account. */
import { and, count, desc, eq, isNull, sql } from 'drizzle-orm'
import { agentNumbers, agents, deliveries, messages } from '../../../db/schema.ts'
import { hour } from '../../lib/time.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'

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
  // Written out, not bound: only then may the planner use the partial index.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const unread = db.select({ n: count() }).from(deliveries).where(and(eq(deliveries.inbox, agentNumbers.n), isUnread))
  const inboxes = db.select({ agentId: agentNumbers.agentId, unread: sql<number>`(${unread})`.as('unread') })
    .from(agentNumbers).where(inAccount(agentNumbers)).as('inboxes')
  const unreadByAgent = db.select({
    agentId: inboxes.agentId,
    unread: inboxes.unread,
    total: sql<number>`sum(${inboxes.unread}) OVER ()`.as('total'),
  }).from(inboxes).where(sql`${inboxes.unread} > 0`)
    .orderBy(desc(inboxes.unread)).limit(p('limit')).as('unread_by_agent')
  const byUnread = db.select({ alias: agents.alias, unread: unreadByAgent.unread, total: unreadByAgent.total }).from(
    unreadByAgent,
  )
    .innerJoin(agents, inAccount(agents, eq(agents.id, unreadByAgent.agentId)))
    .orderBy(desc(unreadByAgent.unread), agents.alias).prepare()
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
      /** The number of unread messages of all agents together, and the agents with the most. */
      async unreadTotals(limit: number) {
        const rows = await account.all(byUnread, { limit })
        return { unread: rows[0]?.total ?? 0, mostUnread: rows.map(({ alias, unread }) => ({ alias, unread })) }
      },
      /** How many live agents there are, and how many of them were seen since a time. */
      agents: async (since: number) => (await account.one(agentCounts, { since }))!,
    }),
    changes: () => ({}),
  }
}
