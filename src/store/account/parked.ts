/** Messages that were set aside, and putting them back. See docs/delivery.md, "Parked messages". */
import { and, count, desc, eq, isNull, sql } from 'drizzle-orm'
import { agents, deliveries, messages } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'

/** How many messages one unit puts back. */
export const maxRequeued = 500

export function prepareParked(db: Db) {
  // Written out, not bound: only then may the planner use the partial index.
  const isParked = sql`${deliveries.state} = 'parked'`
  const ofLiveAgent = and(
    eq(agents.accountId, deliveries.accountId),
    eq(agents.id, deliveries.agentId),
    isNull(agents.deletedAt),
  )

  const isOne = and(
    eq(deliveries.agentId, p('agent')),
    sql`(${p('message')} IS NULL OR ${deliveries.messageId} = ${p('message')})`,
  )

  const list = db.select({
    id: deliveries.messageId,
    alias: agents.alias,
    // Who wrote from another account is told to its recipient alone.
    fromAlias: messages.fromAlias,
    storedAt: deliveries.createdAt,
    parkedAt: sql<number>`${deliveries.readAt}`.as('parked_at'),
    returns: deliveries.releaseCount,
  }).from(deliveries)
    .innerJoin(agents, ofLiveAgent)
    .leftJoin(
      messages,
      inAccount(messages, eq(messages.id, deliveries.messageId), eq(messages.accountId, deliveries.senderAccountId)),
    )
    .where(inAccount(deliveries, isParked))
    .orderBy(desc(deliveries.readAt)).limit(p('limit')).prepare()
  const ofAgent = db.select({ n: count() }).from(deliveries)
    .where(inAccount(deliveries, isParked, isOne)).prepare()

  const chosen = db.select({ seq: deliveries.seq }).from(deliveries)
    .where(inAccount(deliveries, isParked, isOne))
    .orderBy(deliveries.seq).limit(maxRequeued)
  // Setting the count of releases wakes the readers of other processes.
  const requeue = db.update(deliveries)
    .set({ state: 'unread', leaseId: null, readAt: null, releaseCount: sql`${deliveries.releaseCount}` })
    .where(inAccount(deliveries, sql`${deliveries.seq} IN ${chosen}`))
    .returning({ messageId: deliveries.messageId }).toSQL()

  return {
    reads: (account: AccountBinding) => ({
      /**
       * Parked messages of agents that are not deleted, those parked last first. `fromAlias` is null for a sender of
       * another account.
       */
      list: (limit: number) => account.all(list, { limit }),
      /** How many messages of an agent are parked, or whether the one of this id is. */
      count: async (agent: string, message: string | null = null) =>
        (await account.one(ofAgent, { agent, message }))!.n,
    }),
    changes: (account: AccountBinding) => ({
      /** Make parked messages of an agent unread, or the one of this id; at most 500. Returns the column `message_id`. */
      requeue: (agent: string, message: string | null): Statement => ({
        ...account.bind(requeue, { agent, message }),
        rows: maxRequeued,
      }),
    }),
  }
}
