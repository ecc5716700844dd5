/** Removing old messages and idempotency keys. See docs/operations.md, "Retention". */
import { type AccountDb, query, type Statement, statement } from '../sql.ts'
import { threadErasure } from './thread-erasure.ts'

// Ids of messages sort by time, so the first are the oldest, apart from clock differences.
const oldMessages = query<{ id: string; recipients: number }>(`
  SELECT first.id, (
    SELECT count(*) FROM deliveries
    WHERE deliveries.message_id = first.id AND deliveries.sender_account_id = :account) AS recipients
  FROM (SELECT id, created_at FROM messages WHERE account_id = :account ORDER BY id LIMIT :limit) AS first
  WHERE first.created_at <= :until`)

const ids = `(SELECT value FROM json_each(:ids))`
const removeKeys = statement(`
  DELETE FROM idempotency_keys WHERE sender_account_id = :account AND message_id IN ${ids} AND created_at <= :until`)
// Referencing rows first, because of the foreign keys.
const removeMessages = [
  ...threadErasure(`m.id IN ${ids}`),
  statement(`DELETE FROM lease_releases WHERE sender_account_id = :account AND message_id IN ${ids}`),
  statement(`DELETE FROM deliveries WHERE sender_account_id = :account AND message_id IN ${ids}`),
  statement(`DELETE FROM idempotency_keys WHERE sender_account_id = :account AND message_id IN ${ids}`),
  statement(`DELETE FROM parts WHERE account_id = :account AND message_id IN ${ids}`),
  statement(`DELETE FROM task_messages WHERE sender_account_id = :account AND message_id IN ${ids}`),
  statement(`DELETE FROM messages WHERE account_id = :account AND id IN ${ids}`),
]

export const retention = {
  reads: (account: AccountDb) => ({
    /** Of the oldest `limit` messages, the ones that were stored by `until`, with their number of recipients. */
    messages: (until: number, limit: number) => account.all(oldMessages, { until, limit }),
  }),
  changes: (account: AccountDb) => ({
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
