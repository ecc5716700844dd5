/** Removing old messages and idempotency keys. See docs/operations.md, "Retention". */
import { and, eq, lte, sql } from 'drizzle-orm'
import { deliveries, idempotencyKeys, leaseReleases, messages, parts, taskMessages } from '../../../db/schema.ts'
import { type AccountBinding, p, type Statement } from '../driver/binding.ts'
import type { CrossAccountQueries, Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'
import { threadErasure } from './thread-erasure.ts'

export function prepareRetention(db: Db, crossAccountQueries: CrossAccountQueries) {
  const ids = sql`(SELECT value FROM json_each(${p('ids')}))`

  // Ids of messages sort by time, so the first are the oldest, apart from clock differences.
  const first = db.select({ id: messages.id, createdAt: messages.createdAt }).from(messages)
    .where(inAccount(messages)).orderBy(messages.id).limit(p('limit')).as('first')
  const recipients = db.select({ n: sql<number>`count(*)` }).from(deliveries)
    .where(and(eq(deliveries.messageId, first.id), eq(deliveries.senderAccountId, p('account'))))
  const oldMessages = db.select({ id: first.id, recipients: sql<number>`(${recipients})`.as('recipients') }).from(first)
    .where(lte(first.createdAt, p('until'))).prepare()

  const removeKeys = db.delete(idempotencyKeys).where(
    inAccount(idempotencyKeys, sql`${idempotencyKeys.messageId} IN ${ids}`, lte(idempotencyKeys.createdAt, p('until'))),
  ).toSQL()
  // Referencing rows first, because of the foreign keys.
  const removeMessages = [
    ...threadErasure(db, crossAccountQueries, sql`m.id IN ${ids}`),
    ...[
      db.delete(leaseReleases).where(
        and(eq(leaseReleases.senderAccountId, p('account')), sql`${leaseReleases.messageId} IN ${ids}`),
      ),
      db.delete(deliveries).where(
        and(eq(deliveries.senderAccountId, p('account')), sql`${deliveries.messageId} IN ${ids}`),
      ),
      db.delete(idempotencyKeys).where(inAccount(idempotencyKeys, sql`${idempotencyKeys.messageId} IN ${ids}`)),
      db.delete(parts).where(inAccount(parts, sql`${parts.messageId} IN ${ids}`)),
      db.delete(taskMessages).where(
        and(eq(taskMessages.senderAccountId, p('account')), sql`${taskMessages.messageId} IN ${ids}`),
      ),
      db.delete(messages).where(inAccount(messages, sql`${messages.id} IN ${ids}`)),
    ].map((statement) => statement.toSQL()),
  ]

  return {
    reads: (account: AccountBinding) => ({
      /** Of the oldest `limit` messages, the ones that were stored by `until`, with their number of recipients. */
      messages: (until: number, limit: number) => account.all(oldMessages, { until, limit }),
    }),
    changes: (account: AccountBinding) => ({
      /** Remove the idempotency keys of these messages that were stored by `until`. */
      removeKeys: (messageIds: string[], until: number): Statement => ({
        ...account.bind(removeKeys, { ids: JSON.stringify(messageIds), until }),
        rows: messageIds.length,
      }),
      /** Remove messages with everything that belongs to them, read or not; `rows` is the number of rows in all. */
      removeMessages: (messageIds: string[], rows: number): Statement[] =>
        removeMessages.map((statement) => ({
          ...account.bind(statement, { ids: JSON.stringify(messageIds) }),
          rows: Math.ceil(rows / removeMessages.length),
        })),
    }),
  }
}
