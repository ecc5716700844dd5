/** An agent's own mailbox: what waits, and handing it out once. */
import { and, eq, isNotNull, notExists, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts, agents, deliveries, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../bound.ts'
import { skillsAsJson } from './agents.ts'

/** A message in a mailbox. Times are milliseconds since the epoch; `skills` and `a2a` are JSON. */
export type Mail = Awaited<ReturnType<ReturnType<ReturnType<typeof prepareMailbox>['reads']>['batch']>>[number]

export function prepareMailbox(db: Db) {
  const mine = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const isRead = sql`${deliveries.state} = 'read'`
  const inBatch = isNotNull(deliveries.batchId)

  const unread = db.select({ unread: sql<number>`count(*)`.as('unread') }).from(deliveries).where(
    own(deliveries, mine, isUnread),
  )
  const countUnread = unread.toSQL()
  const preparedUnread = unread.prepare()
  const any = db.select({ seq: deliveries.seq }).from(deliveries).where(own(deliveries, mine, isUnread))
    .limit(1).prepare()
  const newestUnread = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries)
    .where(own(deliveries, mine, isUnread)).prepare()
  const lastRead = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries)
    .where(own(deliveries, mine, isRead)).prepare()

  const claimed = alias(deliveries, 'claimed')
  const oldest = db.select({ seq: deliveries.seq, chars: deliveries.chars }).from(deliveries)
    .where(own(deliveries, mine, isUnread)).orderBy(deliveries.seq).limit(p('limit')).as('oldest')
  const sized = db.select({
    seq: sql<number>`${oldest.seq}`.as('seq'),
    total: sql<number>`sum(${oldest.chars}) OVER (ORDER BY ${oldest.seq})`.as('total'),
    n: sql<number>`row_number() OVER (ORDER BY ${oldest.seq})`.as('n'),
  }).from(oldest).as('sized')
  const fits = db.select({ seq: sized.seq }).from(sized).where(
    sql`${sized.n} = 1 OR ${sized.total} <= ${p('maxChars')}`,
  )
  const claim = db.update(deliveries)
    .set({ state: 'read', batchId: sql`${p('batch')}`, readAt: sql`${p('at')}` })
    .where(own(
      deliveries,
      sql`${deliveries.seq} IN ${fits}`,
      // A claim that is repeated after a lost answer claims nothing more.
      notExists(
        db.select({ one: sql`1` }).from(claimed)
          .where(and(own(claimed), eq(claimed.batchId, p('batch')), isNotNull(claimed.batchId))),
      ),
    )).toSQL()

  const sender = agents
  const batch = db.select({
    seq: deliveries.seq,
    returned: deliveries.returned,
    id: messages.id,
    recipient: messages.recipient,
    fromAlias: messages.fromAlias,
    type: messages.type,
    body: messages.body,
    replyToMessageId: messages.replyToMessageId,
    conversationId: messages.conversationId,
    a2a: messages.a2a,
    flagged: messages.flagged,
    createdAt: messages.createdAt,
    senderDescription: sender.description,
    senderSkills: skillsAsJson(db),
    senderState: accounts.state,
  }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .innerJoin(sender, and(eq(sender.accountId, messages.accountId), eq(sender.id, messages.fromAgentId)))
    .innerJoin(accounts, eq(accounts.id, messages.accountId))
    .where(own(deliveries, mine, eq(deliveries.batchId, p('batch')), inBatch))
    .orderBy(deliveries.seq).prepare()

  const park = db.update(deliveries).set({ state: 'parked' })
    .where(own(deliveries, mine, isUnread)).toSQL()
  const received = db.select({ id: messages.id, conversationId: messages.conversationId }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .where(own(deliveries, mine, eq(deliveries.messageId, p('id')))).prepare()

  return {
    reads: (scope: Scope) => ({
      /** A message that was sent to the agent, whether read or not. */
      received: (agent: string, id: string) => scope.one(received, { agent, id }),
      /** How many messages wait for an agent. */
      unread: async (agent: string) => (await scope.one(preparedUnread, { agent }))!.unread,
      /** Whether anything waits; cheaper than counting. */
      hasUnread: async (agent: string) => (await scope.one(any, { agent })) !== undefined,
      /** The `seq` of the newest message that waits; 0 when none does. */
      newestUnread: async (agent: string) => (await scope.one(newestUnread, { agent }))?.seq ?? 0,
      /** The `seq` of the newest message handed out; 0 before the first. */
      lastRead: async (agent: string) => (await scope.one(lastRead, { agent }))?.seq ?? 0,
      /** The messages of one hand-out, oldest first. */
      batch: (agent: string, id: string) => scope.all(batch, { agent, batch: id }),
    }),
    changes: (scope: Scope) => ({
      /**
       * Hand out the oldest unread messages as `batch`: at most `limit`, and as many
       * as fit into `maxChars`, but always one.
       */
      claim: (agent: string, batch: string, limit: number, maxChars: number, at: number) => ({
        ...scope.bind(claim, { agent, batch, limit, maxChars, at }),
        rows: limit,
      }),
      /** Set everything that waits aside: nobody will read it any more. */
      park: (agent: string) => scope.bind(park, { agent }),
      /** Not a change: the count of what waits, as of this unit's commit. Column `unread`. */
      countUnread: (agent: string) => ({ ...scope.bind(countUnread, { agent }), rows: 0 }),
    }),
  }
}
