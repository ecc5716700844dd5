/** What pages of the account show that changes without a new message. See docs/delivery.md, "Live pages". */
import { and, count, desc, eq, isNull, ne, sql } from 'drizzle-orm'
import { unionAll } from 'drizzle-orm/sqlite-core'
import { agents, deliveries, messages, threadMessages } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account-old.ts'
import { maxCountedUnread } from './unread-old.ts'

export function prepareLive(db: Db) {
  const newestPlaces = db.select({ accountId: threadMessages.accountId, seq: threadMessages.seq }).from(threadMessages)
    .where(inAccount(threadMessages, eq(threadMessages.threadId, p('thread'))))
    .orderBy(desc(threadMessages.seq)).limit(p('limit')).as('place')
  const fields = {
    seq: messages.seq,
    at: messages.createdAt,
    channelId: messages.channelId,
    fromAgentId: messages.fromAgentId,
  }
  const isPlace = eq(messages.seq, newestPlaces.seq)
  const own = db.select(fields).from(newestPlaces)
    .innerJoin(messages, and(isPlace, eq(messages.accountId, newestPlaces.accountId)))
  // A message of another account has one recipient in this one.
  const delivered = db.select(fields).from(newestPlaces).innerJoin(messages, isPlace)
    .innerJoin(
      deliveries,
      and(
        eq(deliveries.messageId, messages.id),
        eq(deliveries.senderAccountId, messages.accountId),
        eq(deliveries.accountId, newestPlaces.accountId),
      ),
    )
    .where(ne(messages.accountId, newestPlaces.accountId))
  const newest = unionAll(own, delivered).prepare()

  const someUnread = sql`SELECT 1 FROM ${deliveries} WHERE ${deliveries.inbox} = (${
    inboxOf(agents.accountId, agents.id)
  })
    AND ${deliveries.accountId} = ${p('account')} AND ${deliveries.state} = 'unread' LIMIT ${p('maxUnread')}`
  const presence = db.select({
    agentId: agents.id,
    lastSeenAt: agents.lastSeenAt,
    queue: sql<number>`(SELECT ${count()} FROM (${someUnread}))`.as('queue'),
  }).from(agents).where(inAccount(agents, isNull(agents.deletedAt)))
    .orderBy(desc(agents.lastSeenAt)).limit(p('limit')).prepare()

  return {
    reads: (account: AccountBinding) => ({
      /** The newest messages of a thread, without their texts. */
      newest: (thread: number, limit: number) => account.all(newest, { thread, limit }),
      /** The agents that were seen last: when, and how many messages are unread, up to 100. */
      presence: (limit: number) => account.all(presence, { limit, maxUnread: maxCountedUnread }),
    }),
    changes: () => ({}),
  }
}
