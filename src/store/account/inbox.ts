/** An agent's inbox: unread messages, and reading again. Leasing messages is in `leases.ts`. */
import { and, count, desc, eq, gt, gte, inArray, isNotNull, lt, lte, type SQL, sql } from 'drizzle-orm'
import { alias, unionAll } from 'drizzle-orm/sqlite-core'
import { deliveries, messages } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inInbox } from '../in-account.ts'
import { selectInboxMessages } from './inbox-message.ts'
import { someUnread } from './unread.ts'

/** How many of the newest read messages `lastLease` searches. */
const lastLeaseDepth = 1_000

export function prepareInbox(db: Db) {
  const ofAgent = eq(deliveries.agentId, p('agent'))
  // Written out, not bound: only then may the planner use the partial indexes.
  const isUnread = sql`${deliveries.state} = 'unread'`
  const isRead = sql`${deliveries.state} = 'read'`

  const unread = db.select({ unread: count() }).from(someUnread(db, 'agent')).limit(1).prepare()
  const oldestUnread = db.select({ fromAlias: messages.fromAlias, at: deliveries.createdAt }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .where(inInbox(p('agent'), isUnread)).orderBy(deliveries.seq).limit(1).prepare()
  const newestUnread = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries)
    .where(inInbox(p('agent'), isUnread)).prepare()
  const lastRead = db.select({ seq: sql<number | null>`max(${deliveries.seq})` }).from(deliveries)
    .where(inInbox(p('agent'), isRead)).prepare()

  const ofLease = selectInboxMessages(db, and(eq(deliveries.leaseId, p('lease')), isNotNull(deliveries.leaseId))!)
    .prepare()

  // Each half of an inbox has its own index. One statement reads both halves: a message that is leased or released
  // between two statements would be in neither.
  const half = (isHalf: SQL, after: string) =>
    db.select({ seq: deliveries.seq }).from(deliveries)
      .where(inInbox(p('agent'), isHalf, gt(deliveries.seq, p(after)), gte(deliveries.createdAt, p('from'))))
      .orderBy(deliveries.seq).limit(p('limit'))
  const halves = unionAll(
    db.select().from(half(isUnread, 'afterUnread').as('unread_half')),
    db.select().from(half(isRead, 'afterRead').as('read_half')),
  )
  const page = selectInboxMessages(db, inArray(deliveries.seq, halves)).limit(p('limit')).prepare()
  const byMessage = selectInboxMessages(
    db,
    and(eq(deliveries.messageId, p('message')), sql`${deliveries.state} NOT IN ('parked', 'withdrawn')`)!,
  )
    .limit(1).prepare()
  const nextUnread = selectInboxMessages(db, inInbox(p('agent'), isUnread)).limit(p('limit')).prepare()
  const before = (isHalf: SQL) =>
    db.select({ seq: deliveries.seq }).from(deliveries)
      .where(inInbox(p('agent'), isHalf, lt(deliveries.createdAt, p('at')))).orderBy(desc(deliveries.seq))
      .limit(1)
      .prepare()
  const [unreadBefore, readBefore] = [before(isUnread), before(isRead)]

  // Messages are leased in their order, so the newest message was in the newest lease. But a released message is leased
  // again after later ones, and that lease may be newer, by its id (UUIDv7). Ids alone would trust the clocks of
  // processes.
  const newestRead = db.select({ leaseId: deliveries.leaseId }).from(deliveries).where(inInbox(p('agent'), isRead))
    .orderBy(desc(deliveries.seq)).limit(1)
  const deepest = db.select({ seq: deliveries.seq }).from(deliveries).where(inInbox(p('agent'), isRead))
    .orderBy(desc(deliveries.seq)).limit(1).offset(lastLeaseDepth - 1)
  // Looking at 1,000 messages may fetch as many pages, but most inboxes have no redelivered message, and their index
  // says so. `+` keeps the depth from being a bound in that index: the depth is computed only if there is a row.
  const isNear = sql`+${deliveries.seq} >= coalesce(${deepest}, 0)`
  const redelivered = db.select({ leaseId: deliveries.leaseId }).from(deliveries)
    .where(inInbox(p('agent'), isRead, sql`${deliveries.releaseCount} > 0`, isNear))
    .orderBy(desc(deliveries.seq)).limit(lastLeaseDepth)
  const either = unionAll(
    db.select().from(newestRead.as('newest')),
    db.select().from(redelivered.as('redelivered')),
  ).as('either')
  const lastLease = db.select({ id: sql<string | null>`max(${either.leaseId})` }).from(either).prepare()

  const newest = (isHalf: SQL) =>
    db.select({ seq: deliveries.seq }).from(deliveries)
      .where(inInbox(p('agent'), isHalf, lt(deliveries.seq, p('before'))))
      .orderBy(desc(deliveries.seq)).limit(p('limit'))
  const bothHalves = unionAll(
    db.select().from(newest(isUnread).as('unread_half')),
    db.select().from(newest(isRead).as('read_half')),
  )
  const pageBefore = selectInboxMessages(db, inArray(deliveries.seq, bothHalves)).prepare()
  const unreadBeforeSeq = selectInboxMessages(db, inArray(deliveries.seq, newest(isUnread))).prepare()

  const isOneOf = sql`${deliveries.messageId} IN (SELECT value FROM json_each(${p('messages')}))`
  const asRead = { state: 'read' as const, readAt: sql`${p('at')}` }
  const markRead = db.update(deliveries).set(asRead).where(inAccount(deliveries, ofAgent, isUnread, isOneOf))
    .returning({ messageId: deliveries.messageId }).toSQL()
  const markReadUpTo = db.update(deliveries).set(asRead)
    .where(inInbox(p('agent'), isUnread, lte(deliveries.seq, p('upTo'))))
    .returning({ messageId: deliveries.messageId }).toSQL()
  const markUnread = db.update(deliveries).set({ state: 'unread', readAt: null })
    .where(inAccount(deliveries, ofAgent, isRead, isOneOf))
    .returning({ messageId: deliveries.messageId }).toSQL()

  // Another account could say any number, so its message counts as one answer to ours.
  const answered = alias(messages, 'answered')
  const ofOurs = db.select({ hops: answered.hops }).from(answered)
    .where(inAccount(answered, eq(answered.id, messages.replyToMessageId)))
  const ourHops = sql<number>`CASE WHEN ${messages.accountId} = ${p('account')} THEN ${messages.hops}
    ELSE min(${messages.hops}, coalesce((${ofOurs}), 0) + 1) END`
  const received = db.select({
    id: messages.id,
    recipient: messages.recipient,
    conversationId: messages.conversationId,
    fromAlias: messages.fromAlias,
    type: messages.type,
    hops: ourHops,
    taskId: deliveries.taskId,
  }).from(deliveries)
    .innerJoin(
      messages,
      and(eq(messages.accountId, deliveries.senderAccountId), eq(messages.id, deliveries.messageId)),
    )
    .where(inAccount(deliveries, ofAgent, eq(deliveries.messageId, p('id')))).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** A message that was sent to the agent, whether read or not. */
      received: (agent: string, id: string) => account.one(received, { agent, id }),
      /** A message that was sent to the agent, as a read shows it; undefined if it is parked. */
      message: (agent: string, message: string) => account.one(byMessage, { agent, message }),
      /** How many messages of an agent are unread; 100 stands for 100 or more. */
      unread: async (agent: string) => (await account.one(unread, { agent }))!.unread,
      /** Who sent the oldest unread message, and when it was stored; undefined without one. */
      oldestUnread: (agent: string): Promise<{ fromAlias: string; at: number } | undefined> =>
        account.one(oldestUnread, { agent }),
      /** The `seq` of the newest unread message; 0 without one. */
      newestUnread: async (agent: string) => (await account.one(newestUnread, { agent }))?.seq ?? 0,
      /** The `seq` of the newest message that was read; 0 before the first. */
      lastRead: async (agent: string) => (await account.one(lastRead, { agent }))?.seq ?? 0,
      /** The messages of one lease, oldest first. */
      ofLease: (agent: string, lease: string) => account.all(ofLease, { agent, lease }),
      /** The id of the newest lease; null before the first. */
      lastLease: async (agent: string) => (await account.one(lastLease, { agent }))?.id ?? null,
      /** Unread messages, oldest first. */
      nextUnread: (agent: string, limit: number) => account.all(nextUnread, { agent, limit }),
      /** Messages before a position, newest first: unread and read ones, or only unread ones. */
      async before(agent: string, before: number, limit: number, isUnread: boolean) {
        const found = await account.all(isUnread ? unreadBeforeSeq : pageBefore, { agent, before, limit })
        return found.reverse().slice(0, limit)
      },
      /** Unread and read messages after a position, oldest first. */
      after: (agent: string, after: number, limit: number) =>
        account.all(page, { agent, afterUnread: after, afterRead: after, from: 0, limit }),
      /**
       * Unread and read messages that were stored at `from` or later, oldest first. Positions follow the commits and
       * times follow the clocks. So the search begins after the newest message stored before `searchFrom`, which is
       * earlier than `from` by the largest clock skew.
       */
      async storedSince(agent: string, from: number, searchFrom: number, limit: number) {
        const afterUnread = (await account.one(unreadBefore, { agent, at: searchFrom }))?.seq ?? 0
        const afterRead = (await account.one(readBefore, { agent, at: searchFrom }))?.seq ?? 0
        return await account.all(page, { agent, afterUnread, afterRead, from, limit })
      },
    }),
    changes: (account: AccountBinding) => ({
      /** Make unread messages read, without a lease. Returns the column `message_id` of each. */
      markRead: (agent: string, messages: readonly string[], at: number): Statement => ({
        ...account.bind(markRead, { agent, messages: JSON.stringify(messages), at }),
        rows: messages.length,
      }),
      /** The same for all unread messages up to a position. */
      markReadUpTo: (agent: string, upTo: number, at: number): Statement =>
        account.bind(markReadUpTo, { agent, upTo, at }),
      /** Make read messages unread. Returns the column `message_id` of each. */
      markUnread: (agent: string, messages: readonly string[]): Statement => ({
        ...account.bind(markUnread, { agent, messages: JSON.stringify(messages) }),
        rows: messages.length,
      }),
    }),
  }
}
