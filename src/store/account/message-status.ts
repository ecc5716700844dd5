/** What happened to the messages that agents of the account sent, read from the sender's end of each delivery. */
import { and, desc, eq, exists, isNotNull, sql } from 'drizzle-orm'
import { agents, deliveries, leaseReleases, leases, messages } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account-old.ts'

export type RecipientStatus = Awaited<
  ReturnType<ReturnType<ReturnType<typeof prepareMessageStatus>['reads']>['of']>
>[number]

export function prepareMessageStatus(db: Db) {
  // Only leases that expire: all others end with the answer of a read. Those of other accounts are not shown.
  const isLeased = exists(
    db.select({ one: sql`1` }).from(leases)
      .where(inAccount(leases, eq(leases.id, deliveries.leaseId), isNotNull(leases.expiresAt))),
  )

  const of = db.select({
    alias: agents.alias,
    type: agents.type,
    state: deliveries.state,
    createdAt: deliveries.createdAt,
    wokenAt: deliveries.wokenAt,
    readAt: deliveries.readAt,
    isOwn: sql<number>`${deliveries.accountId} = ${deliveries.senderAccountId}`,
    isLeased: sql<number>`${isLeased}`,
  }).from(deliveries)
    .innerJoin(agents, and(eq(agents.accountId, deliveries.accountId), eq(agents.id, deliveries.agentId)))
    .where(and(eq(deliveries.senderAccountId, p('account')), eq(deliveries.messageId, p('id'))))
    .orderBy(deliveries.readAt, agents.alias).prepare()

  // Only of recipients in the same account. Other accounts do not show how their agents read.
  const released = db.select({
    alias: agents.alias,
    leasedAt: leaseReleases.leasedAt,
    releasedAt: leaseReleases.releasedAt,
  })
    .from(leaseReleases)
    .innerJoin(agents, and(eq(agents.accountId, leaseReleases.accountId), eq(agents.id, leaseReleases.agentId)))
    .where(
      inAccount(leaseReleases, eq(leaseReleases.senderAccountId, p('account')), eq(leaseReleases.messageId, p('id'))),
    )
    .orderBy(desc(leaseReleases.releasedAt)).limit(p('limit')).prepare()

  // Only replies to the agent itself: a reply to another agent is not shown.
  const replies = db.select({ alias: messages.fromAlias, createdAt: messages.createdAt }).from(messages)
    .innerJoin(
      deliveries,
      and(
        eq(deliveries.messageId, messages.id),
        eq(deliveries.senderAccountId, messages.accountId),
        inAccount(deliveries, eq(deliveries.agentId, p('agent'))),
      ),
    )
    .where(eq(messages.replyToMessageId, p('id')))
    .orderBy(desc(deliveries.seq)).limit(p('limit')).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** The recipients of a message of this account, and when each of them read it. */
      of: (id: string) => account.all(of, { id }),
      /** Its released leases, newest first. */
      released: (id: string, limit: number) => account.all(released, { id, limit }),
      /** Replies to it that were sent to an agent, newest first. */
      replies: (id: string, agent: string, limit: number) => account.all(replies, { id, agent, limit }),
    }),
    changes: () => ({}),
  }
}
