/** Figures about an account as a whole. */
import { count, desc, eq, isNull, sql } from 'drizzle-orm'
import { agents, deliveries, messages } from '../../../db/schema.ts'
import { hour } from '../../lib/time.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../driver/binding.ts'

export function prepareOverview(db: Db) {
  // One range of the index for each hour. Grouping all of them takes ten times as long.
  const inHour = db.select({ n: count() }).from(messages)
    .where(
      own(messages, sql`${messages.createdAt} >= hours.value`, sql`${messages.createdAt} < hours.value + ${p('hour')}`),
    )
  const sentPerHour = db.select({ at: sql<number>`hours.value`, count: sql<number>`(${inHour})` })
    .from(sql`json_each(${p('hours')}) AS hours`).prepare()
  // Written out, not bound: only then may the planner use the partial index.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const queues = db.select({
    agentId: deliveries.agentId,
    unread: count().as('unread'),
    total: sql<number>`sum(count(*)) OVER ()`.as('total'),
  }).from(deliveries).where(own(deliveries, isUnread)).groupBy(deliveries.agentId)
    .orderBy(desc(sql`unread`)).limit(p('limit')).as('queues')
  const longest = db.select({ alias: agents.alias, unread: queues.unread, total: queues.total }).from(queues)
    .innerJoin(agents, own(agents, eq(agents.id, queues.agentId)))
    .orderBy(desc(queues.unread), agents.alias).prepare()
  // Counted together: it is one walk over all agents.
  const counted = db.select({
    total: count(),
    seen: sql<number>`count(CASE WHEN ${agents.lastSeenAt} >= ${p('since')} THEN 1 END)`,
  }).from(agents).where(own(agents, isNull(agents.deletedAt))).prepare()

  return {
    reads: (scope: Scope) => ({
      /** How many messages the account's agents sent in each of these hours, named by their first millisecond. */
      sentPerHour: (hours: number[]): Promise<{ at: number; count: number }[]> =>
        scope.all(sentPerHour, { hours: JSON.stringify(hours), hour }),
      /** How many messages wait for all agents together, and the agents for whom most does. */
      async queues(limit: number) {
        const rows = await scope.all(longest, { limit })
        return { unread: rows[0]?.total ?? 0, longest: rows.map(({ alias, unread }) => ({ alias, unread })) }
      },
      /** How many agents there are, and how many of them called since a time. */
      agents: async (since: number) => (await scope.one(counted, { since }))!,
    }),
    changes: () => ({}),
  }
}
