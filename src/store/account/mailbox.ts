/** An agent's own mailbox: what waits, handing it out once, and looking at it again. */
import { and, desc, eq, gt, gte, isNotNull, lt, notExists, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { accounts, agents, deliveries, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../bound.ts'
import { skillsAsJson } from './agents.ts'

/** How many messages back the last hand-out is looked for. */
const lastBatchDepth = 1_000

/** A message in a mailbox. Times are milliseconds since the epoch; `skills` and `a2a` are JSON. */
export type Mail = Awaited<ReturnType<ReturnType<ReturnType<typeof prepareMailbox>['reads']>['batch']>>[number]

/** What fits into one answer; lengths in UTF-16 units. */
export type Budget = { limit: number; maxChars: number; maxOne: number }

export function prepareMailbox(db: Db) {
  const mine = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const isRead = sql`${deliveries.state} = 'read'`
  const inBatch = isNotNull(deliveries.batchId)

  const unread = db.select({ unread: sql<number>`count(*)`.as('unread') }).from(deliveries).where(
    own(deliveries, mine, isUnread),
  ).limit(1)
  const countUnread = unread.toSQL()
  const preparedUnread = unread.prepare()
  const firstUnread = db.select({ seq: deliveries.seq, chars: deliveries.chars }).from(deliveries)
    .where(own(deliveries, mine, isUnread)).orderBy(deliveries.seq).limit(1).prepare()
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
    sql`${sized.total} <= ${p('maxChars')} OR (${sized.n} = 1 AND ${sized.total} <= ${p('maxOne')})`,
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
  const mail = (...conditions: SQL[]) =>
    db.select({
      seq: deliveries.seq,
      state: deliveries.state,
      chars: deliveries.chars,
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
      .where(own(deliveries, mine, ...conditions))
      .orderBy(deliveries.seq)
  const batch = mail(eq(deliveries.batchId, p('batch')), inBatch).prepare()

  // Each half of a mailbox has its own index, so both are asked.
  const half = (isHalf: SQL) => ({
    page: mail(isHalf, gt(deliveries.seq, p('after')), gte(deliveries.createdAt, p('from'))).limit(p('limit'))
      .prepare(),
    before: db.select({ seq: deliveries.seq }).from(deliveries)
      .where(own(deliveries, mine, isHalf, lt(deliveries.createdAt, p('at')))).orderBy(desc(deliveries.seq)).limit(1)
      .prepare(),
  })
  const [unreadHalf, readHalf] = [half(isUnread), half(isRead)]
  // The newest by its id (UUIDv7), not by its messages: a batch given back is handed out again behind later ones.
  const recent = db.select({ batchId: deliveries.batchId }).from(deliveries).where(own(deliveries, mine, isRead))
    .orderBy(desc(deliveries.seq)).limit(lastBatchDepth).as('recent')
  const lastBatch = db.select({ id: sql<string | null>`max(${recent.batchId})` }).from(recent).prepare()

  const giveBack = db.update(deliveries)
    .set({ state: 'unread', batchId: null, readAt: null, returned: sql`${deliveries.returned} + 1` })
    .where(own(deliveries, mine, eq(deliveries.batchId, p('batch')), inBatch)).toSQL()
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
      /** The oldest that waits, with its length; undefined when nothing does. Cheaper than counting. */
      firstUnread: (agent: string) => scope.one(firstUnread, { agent }),
      /** The `seq` of the newest message that waits; 0 when none does. */
      newestUnread: async (agent: string) => (await scope.one(newestUnread, { agent }))?.seq ?? 0,
      /** The `seq` of the newest message handed out; 0 before the first. */
      lastRead: async (agent: string) => (await scope.one(lastRead, { agent }))?.seq ?? 0,
      /** The messages of one hand-out, oldest first. */
      batch: (agent: string, id: string) => scope.all(batch, { agent, batch: id }),
      /** The newest hand-out; null before the first. */
      lastBatch: async (agent: string) => (await scope.one(lastBatch, { agent }))?.id ?? null,
      /** What waits, oldest first. */
      waiting: (agent: string, limit: number) => scope.all(unreadHalf.page, { agent, after: 0, from: 0, limit }),
      /** What waits and what was read, behind a place of the mailbox, oldest first. */
      async behind(agent: string, after: number, limit: number) {
        const values = { agent, after, from: 0, limit }
        return merged(await scope.all(unreadHalf.page, values), await scope.all(readHalf.page, values), limit)
      },
      /**
       * What waits and what was read and was stored at `from` or later, oldest first. Looks no further back
       * than the newest message of before `surely`, which is earlier than `from` by more than clocks differ.
       */
      async storedSince(agent: string, from: number, surely: number, limit: number) {
        const page = async ({ before, page }: typeof readHalf) => {
          const after = (await scope.one(before, { agent, at: surely }))?.seq ?? 0
          return await scope.all(page, { agent, after, from, limit })
        }
        return merged(await page(unreadHalf), await page(readHalf), limit)
      },
    }),
    changes: (scope: Scope) => ({
      /**
       * Hand out the oldest unread messages as `batch`: at most `limit`, and as many
       * as fit into `maxChars`; the first alone may be as long as `maxOne`.
       */
      claim: (agent: string, batch: string, budget: Budget, at: number) => ({
        ...scope.bind(claim, { agent, batch, ...budget, at }),
        rows: budget.limit,
      }),
      /** Set a batch back to unread. Repeated, it does nothing: the batch is gone. */
      giveBack: (agent: string, batch: string) => ({
        ...scope.bind(giveBack, { agent, batch }),
        rows: 50,
      }),
      /** Set everything that waits aside: nobody will read it any more. */
      park: (agent: string) => scope.bind(park, { agent }),
      /** Not a change: the count of what waits, as of this unit's commit. Column `unread`. */
      countUnread: (agent: string) => ({ ...scope.bind(countUnread, { agent }), rows: 0 }),
    }),
  }
}

/** The halves in one order. The unread one was asked first: what is read in between is in both, not in neither. */
function merged<T extends { seq: number }>(unread: T[], read: T[], limit: number): T[] {
  const bySeq = new Map([...unread, ...read].map((mail) => [mail.seq, mail]))
  return [...bySeq.values()].sort((a, b) => a.seq - b.seq).slice(0, limit)
}
