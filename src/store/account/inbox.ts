/** An agent's own mailbox: what waits, and looking at it again. Handing out is `hand-outs.ts`. */
import { and, count, desc, eq, gt, gte, inArray, isNotNull, lt, type SQL, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/sqlite-core'
import { deliveries, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope } from '../driver/binding.ts'
import { selectMail } from './inbox-message.ts'

/** How many messages back the last hand-out is looked for. */
const lastBatchDepth = 1_000

export function prepareMailbox(db: Db) {
  const mine = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const isRead = sql`${deliveries.state} = 'read'`

  const unread = db.select({ unread: count() }).from(deliveries).where(own(deliveries, mine, isUnread)).limit(1)
    .prepare()
  const oldest = db.select({ seq: deliveries.seq, chars: deliveries.chars }).from(deliveries)
    .where(own(deliveries, mine, isUnread)).orderBy(deliveries.seq).limit(p('limit')).as('oldest')
  // One value, because the local driver takes longer for rows than the database for finding them.
  const oldestUnread = db.select({ list: sql<string>`json_group_array(json_array(${oldest.seq}, ${oldest.chars}))` })
    .from(oldest).limit(1).prepare()
  const newestUnread = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries)
    .where(own(deliveries, mine, isUnread)).prepare()
  const lastRead = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries)
    .where(own(deliveries, mine, isRead)).prepare()

  const batch = selectMail(db, and(eq(deliveries.batchId, p('batch')), isNotNull(deliveries.batchId))!).prepare()

  // Each half of a mailbox has its own index, so both are asked, in one statement: what is handed out or given back
  // meanwhile would otherwise be in neither.
  const half = (isHalf: SQL, after: string) =>
    db.select({ seq: deliveries.seq }).from(deliveries)
      .where(own(deliveries, mine, isHalf, gt(deliveries.seq, p(after)), gte(deliveries.createdAt, p('from'))))
      .orderBy(deliveries.seq).limit(p('limit'))
  const halves = unionAll(
    db.select().from(half(isUnread, 'afterUnread').as('unread_half')),
    db.select().from(half(isRead, 'afterRead').as('read_half')),
  )
  const page = selectMail(db, inArray(deliveries.seq, halves)).limit(p('limit')).prepare()
  const waiting = selectMail(db, isUnread).limit(p('limit')).prepare()
  const before = (isHalf: SQL) =>
    db.select({ seq: deliveries.seq }).from(deliveries)
      .where(own(deliveries, mine, isHalf, lt(deliveries.createdAt, p('at')))).orderBy(desc(deliveries.seq)).limit(1)
      .prepare()
  const [unreadBefore, readBefore] = [before(isUnread), before(isRead)]

  // Mail is handed out in its order, so the newest mail was in the newest batch. But what was given back is handed out
  // again behind later mail: its batch may be newer, by its id (UUIDv7). Ids alone would trust the clocks of processes.
  const newestRead = db.select({ batchId: deliveries.batchId }).from(deliveries).where(own(deliveries, mine, isRead))
    .orderBy(desc(deliveries.seq)).limit(1)
  const deepest = db.select({ seq: deliveries.seq }).from(deliveries).where(own(deliveries, mine, isRead))
    .orderBy(desc(deliveries.seq)).limit(1).offset(lastBatchDepth - 1)
  // Looking at 1,000 messages may fetch as many pages, but in most mailboxes nothing was given back, and the index of
  // that says so. `+` keeps the depth from being a bound in that index: it is sought only where there is a row.
  const isNear = sql`+${deliveries.seq} >= coalesce(${deepest}, 0)`
  const handedOutAgain = db.select({ batchId: deliveries.batchId }).from(deliveries)
    .where(own(deliveries, mine, isRead, sql`${deliveries.returned} > 0`, isNear))
    .orderBy(desc(deliveries.seq)).limit(lastBatchDepth)
  const newest = unionAll(
    db.select().from(newestRead.as('newest')),
    db.select().from(handedOutAgain.as('handed_out_again')),
  ).as('either')
  const lastBatch = db.select({ id: sql<string | null>`max(${newest.batchId})` }).from(newest).prepare()

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
      unread: async (agent: string) => (await scope.one(unread, { agent }))!.unread,
      /** The places and lengths of what waits, oldest first. */
      async oldestUnread(agent: string, limit: number): Promise<{ seq: number; chars: number }[]> {
        const found = await scope.one(oldestUnread, { agent, limit })
        return (JSON.parse(found!.list) as [number, number][]).map(([seq, chars]) => ({ seq, chars }))
      },
      /** The `seq` of the newest message that waits; 0 when none does. */
      newestUnread: async (agent: string) => (await scope.one(newestUnread, { agent }))?.seq ?? 0,
      /** The `seq` of the newest message handed out; 0 before the first. */
      lastRead: async (agent: string) => (await scope.one(lastRead, { agent }))?.seq ?? 0,
      /** The messages of one hand-out, oldest first. */
      batch: (agent: string, id: string) => scope.all(batch, { agent, batch: id }),
      /** The newest hand-out; null before the first. */
      lastBatch: async (agent: string) => (await scope.one(lastBatch, { agent }))?.id ?? null,
      /** What waits, oldest first. */
      waiting: (agent: string, limit: number) => scope.all(waiting, { agent, limit }),
      /** What waits and what was read, behind a place of the mailbox, oldest first. */
      behind: (agent: string, after: number, limit: number) =>
        scope.all(page, { agent, afterUnread: after, afterRead: after, from: 0, limit }),
      /**
       * What waits and what was read and was stored at `from` or later, oldest first. Looks no further back
       * than the newest message of before `surely`, which is earlier than `from` by more than clocks differ.
       */
      async storedSince(agent: string, from: number, surely: number, limit: number) {
        const afterUnread = (await scope.one(unreadBefore, { agent, at: surely }))?.seq ?? 0
        const afterRead = (await scope.one(readBefore, { agent, at: surely }))?.seq ?? 0
        return await scope.all(page, { agent, afterUnread, afterRead, from, limit })
      },
    }),
    changes: () => ({}),
  }
}
