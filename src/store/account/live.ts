/** What pages of the account show that changes without a new message. See docs/security.md, "Streams and waits". */
import { count, desc, eq, isNull, sql } from 'drizzle-orm'
import { agents, deliveries, messages, threadMessages } from '../../../db/schema.ts'
import { type AccountBinding, p } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount, inboxOf } from '../in-account.ts'
import { maxCountedUnread } from './unread.ts'

export function prepareLive(db: Db) {
  const newest = db.select({
    seq: threadMessages.seq,
    at: messages.createdAt,
    channelId: messages.channelId,
    fromAgentId: messages.fromAgentId,
  }).from(threadMessages).innerJoin(messages, eq(messages.seq, threadMessages.seq))
    .where(inAccount(threadMessages, eq(threadMessages.threadId, p('thread'))))
    .orderBy(desc(threadMessages.seq)).limit(p('limit')).prepare()

  const someUnread = sql`SELECT 1 FROM ${deliveries} WHERE ${deliveries.inbox} = (${
    inboxOf(agents.accountId, agents.id)
  })
    AND ${deliveries.accountId} = ${p('account')} AND ${deliveries.state} = 'unread' LIMIT ${
    sql.raw(String(maxCountedUnread))
  }`
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
      presence: (limit: number) => account.all(presence, { limit }),
    }),
    changes: () => ({}),
  }
}
