/** Removing what is past its time. */
import { and, eq, lte, sql } from 'drizzle-orm'
import { deliveries, givenBack, idempotencyKeys, messages } from '../../../db/schema.ts'
import type { Db } from '../account.ts'
import { own, p, type Scope, type Statement } from '../driver/binding.ts'

export function prepareRetention(db: Db) {
  const ids = sql`(SELECT value FROM json_each(${p('ids')}))`

  // Ids of messages sort by time: the first are the oldest, give or take what clocks differ.
  const first = db.select({ id: messages.id, createdAt: messages.createdAt }).from(messages)
    .where(own(messages)).orderBy(messages.id).limit(p('limit')).as('first')
  const recipients = db.select({ n: sql<number>`count(*)` }).from(deliveries)
    .where(and(eq(deliveries.messageId, first.id), eq(deliveries.senderAccountId, p('account'))))
  const oldMessages = db.select({ id: first.id, recipients: sql<number>`(${recipients})`.as('recipients') }).from(first)
    .where(lte(first.createdAt, p('until'))).prepare()

  const removeKeys = db.delete(idempotencyKeys).where(
    own(idempotencyKeys, sql`${idempotencyKeys.messageId} IN ${ids}`, lte(idempotencyKeys.createdAt, p('until'))),
  ).toSQL()
  // From the leaves to the root, as the foreign keys ask.
  const removeMessages = [
    db.delete(givenBack).where(
      and(eq(givenBack.senderAccountId, p('account')), sql`${givenBack.messageId} IN ${ids}`),
    ),
    db.delete(deliveries).where(
      and(eq(deliveries.senderAccountId, p('account')), sql`${deliveries.messageId} IN ${ids}`),
    ),
    db.delete(idempotencyKeys).where(own(idempotencyKeys, sql`${idempotencyKeys.messageId} IN ${ids}`)),
    db.delete(messages).where(own(messages, sql`${messages.id} IN ${ids}`)),
  ].map((statement) => statement.toSQL())

  return {
    reads: (scope: Scope) => ({
      /** Of the first `limit` messages those stored until then, with the number of their recipients. */
      messages: (until: number, limit: number) => scope.all(oldMessages, { until, limit }),
    }),
    changes: (scope: Scope) => ({
      /** Forget the idempotency keys of these messages that were stored until then. */
      removeKeys: (messageIds: string[], until: number): Statement => ({
        ...scope.bind(removeKeys, { ids: JSON.stringify(messageIds), until }),
        rows: messageIds.length,
      }),
      /** Remove messages with everything that belongs to them, read or not; `rows` is how much that is. */
      removeMessages: (messageIds: string[], rows: number): Statement[] =>
        removeMessages.map((statement) => ({
          ...scope.bind(statement, { ids: JSON.stringify(messageIds) }),
          rows: Math.ceil(rows / removeMessages.length),
        })),
    }),
  }
}
