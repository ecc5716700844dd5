/** What `agent-grid doctor` asks of all accounts. Only counts, names and times leave it. */
import { and, asc, eq, inArray, sql } from 'drizzle-orm'
import { accounts, activity, agentNumbers, agents, deliveries, threads, usage } from '../../../db/schema.ts'
import { runQuery } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'

/** Of so many accounts, the largest, sizes are told. */
const maxAccounts = 50

export function prepareHealth(db: Db, crossAccountQueries: CrossAccountQueries) {
  // One search of the index for each inbox. People read on pages, when they like.
  const firstUnread = sql`(SELECT min(${deliveries.seq}) FROM ${deliveries}
    WHERE ${deliveries.inbox} = ${agentNumbers.n} AND ${deliveries.state} = 'unread')`
  const oldestSeq = sql`(SELECT min(${firstUnread}) FROM ${agentNumbers} JOIN ${agents}
    ON ${agents.accountId} = ${agentNumbers.accountId} AND ${agents.id} = ${agentNumbers.agentId}
    WHERE ${agents.deletedAt} IS NULL AND ${agents.type} <> 'human')`
  const oldestUnread = db.select({
    accountId: deliveries.accountId,
    alias: agents.alias,
    createdAt: deliveries.createdAt,
  }).from(deliveries)
    .innerJoin(agents, and(eq(agents.accountId, deliveries.accountId), eq(agents.id, deliveries.agentId)))
    .where(eq(deliveries.seq, oldestSeq)).prepare()
  crossAccountQueries.set(oldestUnread.getQuery().sql, 'oldest unread message')

  const ofAccount = (count: ReturnType<typeof sql>) => sql<number>`coalesce((${count}), 0)`
  const messages = ofAccount(
    sql`SELECT sum(${threads.messages}) FROM ${threads} WHERE ${threads.accountId} = ${accounts.id}`,
  )
  const sizes = db.select({
    id: accounts.id,
    name: accounts.name,
    agents: ofAccount(
      sql`SELECT count(*) FROM ${agents} WHERE ${agents.accountId} = ${accounts.id} AND ${agents.deletedAt} IS NULL`,
    ).as('live_agents'),
    messages: messages.as('placed'),
    activityRows: ofAccount(
      sql`SELECT max(${activity.n}) FROM ${activity} WHERE ${activity.accountId} = ${accounts.id}`,
    ).as('activity_rows'),
    bytesOfWeek: ofAccount(
      sql`SELECT sum(${usage.bytes}) FROM ${usage} WHERE ${usage.accountId} = ${accounts.id} AND ${usage.subject} = ''`,
    ).as('bytes_of_week'),
  }).from(accounts).where(inArray(accounts.state, ['provisional', 'claimed']))
    .orderBy(sql`placed DESC`, asc(accounts.id)).limit(maxAccounts).prepare()
  crossAccountQueries.set(sizes.getQuery().sql, 'sizes of accounts')

  return {
    /** The oldest unread message of an agent that is no person; undefined if there is none. */
    oldestUnread: async () => (await runQuery(oldestUnread))[0],
    /** The accounts with the most messages. */
    sizes: () => runQuery(sizes),
  }
}
