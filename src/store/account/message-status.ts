/** What became of messages that agents of the account sent. A delivery has two ends; here the account is the sender's. */
import { and, asc, desc, eq, sql } from 'drizzle-orm'
import { agents, deliveries, givenBack, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../driver/binding.ts'

export type Receipt = Awaited<ReturnType<ReturnType<ReturnType<typeof prepareReceipts>['reads']>['of']>>[number]

export function prepareReceipts(db: Db) {
  const of = db.select({
    alias: agents.alias,
    type: agents.type,
    state: deliveries.state,
    createdAt: deliveries.createdAt,
    wokenAt: deliveries.wokenAt,
    readAt: deliveries.readAt,
    isOwn: sql<number>`${deliveries.accountId} = ${deliveries.senderAccountId}`,
  }).from(deliveries)
    .innerJoin(agents, and(eq(agents.accountId, deliveries.accountId), eq(agents.id, deliveries.agentId)))
    .where(and(eq(deliveries.senderAccountId, p('account')), eq(deliveries.messageId, p('id'))))
    .orderBy(deliveries.readAt, agents.alias).prepare()

  // Of recipients of the own account alone: how others read is theirs.
  const returned = db.select({ alias: agents.alias, readAt: givenBack.readAt, returnedAt: givenBack.returnedAt })
    .from(givenBack)
    .innerJoin(agents, and(eq(agents.accountId, givenBack.accountId), eq(agents.id, givenBack.agentId)))
    .where(own(givenBack, eq(givenBack.senderAccountId, p('account')), eq(givenBack.messageId, p('id'))))
    .orderBy(desc(givenBack.returnedAt)).limit(p('limit')).prepare()

  // Only what the agent itself was sent: an answer to somebody else is not its affair.
  const replies = db.select({ alias: messages.fromAlias, createdAt: messages.createdAt }).from(messages)
    .innerJoin(
      deliveries,
      and(
        eq(deliveries.messageId, messages.id),
        eq(deliveries.senderAccountId, messages.accountId),
        own(deliveries, eq(deliveries.agentId, p('agent'))),
      ),
    )
    .where(eq(messages.replyToMessageId, p('id')))
    .orderBy(asc(deliveries.seq)).limit(p('limit')).prepare()

  return {
    reads: (scope: Scope) => ({
      /** Where a message of this account went, and who read it. */
      of: (id: string) => scope.all(of, { id }),
      /** Hand-outs of it that reached nobody, the newest first. */
      returned: (id: string, limit: number) => scope.all(returned, { id, limit }),
      /** Answers to it that were sent to an agent, oldest first. */
      replies: (id: string, agent: string, limit: number) => scope.all(replies, { id, agent, limit }),
    }),
    changes: () => ({}),
  }
}
