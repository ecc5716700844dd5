/** What a send tells its sender besides the id. It is counted in the unit of the send, so it is true at the commit. */
import { and, count, eq, gt, type SQL, sql } from 'drizzle-orm'
import { agents, deliveries, idempotencyKeys, messages } from '../../../db/schema.ts'
import { type AccountBinding, p, type PlaceholderValues, type Statement } from '../driver/binding.ts'
import type { Db } from '../driver/db.ts'
import { inAccount } from '../in-account.ts'
import { type GuardedReceipt, type ReviewedMessage } from './new-message.ts'
import { someUnread } from './unread.ts'

/** Times are milliseconds since the epoch. A field is missing where it does not apply. */
export interface SendReceipt extends GuardedReceipt {
  /** Unread messages of the sender; 100 stands for 100 or more. */
  unread: number
  /** Unread messages of a recipient in the same account, this one included; 100 stands for 100 or more. */
  recipientUnread?: number
  recipientSeenAt?: number | null
  /** Other members of the channel, and how many of them were seen lately. */
  recipients?: number
  recipientsActive?: number
}

export function prepareReceipts(db: Db) {
  const unreadOf = (agent: string) => db.select({ n: count() }).from(someUnread(db, agent))
  const unread = unreadOf('from')
  const recipients = (condition?: SQL) =>
    db.select({ n: count() }).from(deliveries)
      .innerJoin(agents, and(eq(agents.accountId, deliveries.accountId), eq(agents.id, deliveries.agentId), condition))
      .where(inAccount(deliveries, eq(deliveries.messageId, p('id')), eq(deliveries.senderAccountId, p('account'))))
  const isActive = gt(agents.lastSeenAt, p('activeSince'))

  const seenAt = db.select({ at: agents.lastSeenAt }).from(agents).where(inAccount(agents, eq(agents.id, p('to'))))

  const toOtherAccount = prepared(sql`json_object('unread', (${unread}))`)
  const toAgent = prepared(sql`json_object('unread', (${unread}),
    'recipientUnread', (${unreadOf('to')}), 'recipientSeenAt', (${seenAt}))`)
  const toChannel = prepared(sql`json_object('unread', (${unread}),
    'recipients', (${recipients()}), 'recipientsActive', (${recipients(isActive)}))`)

  function prepared(receipt: SQL) {
    return { ...variant(receipt), guarded: variant(sql`json_patch(${receipt}, ${p('guarded')})`) }
  }

  function variant(receipt: SQL) {
    return {
      read: db.select({ receipt: sql`${receipt}`.as('receipt') }).from(messages)
        .where(inAccount(messages, eq(messages.id, p('id')))).limit(1).toSQL(),
      // Stored once: a repeat of the send gets the first receipt.
      store: db.update(idempotencyKeys).set({ receipt: sql`coalesce(${idempotencyKeys.receipt}, ${receipt})` })
        .where(inAccount(
          idempotencyKeys,
          eq(idempotencyKeys.agentId, p('from')),
          eq(idempotencyKeys.key, p('key')),
          eq(idempotencyKeys.messageId, p('id')),
        )).returning({ receipt: idempotencyKeys.receipt }).toSQL(),
    }
  }

  return {
    reads: () => ({}),
    changes: (account: AccountBinding) => {
      /** A receipt is stored with the idempotency key of the send, if it has one. */
      const bound = (
        receipt: typeof toAgent,
        message: ReviewedMessage,
        more: PlaceholderValues,
      ): Statement => {
        const { id, from, key, guarded } = message
        const { read, store } = guarded ? receipt.guarded : receipt
        const values = { id, from, ...more, ...(guarded && { guarded: JSON.stringify(guarded.receipt) }) }
        return key === null ? { ...account.bind(read, values), rows: 0 } : account.bind(store, { ...values, key })
      }
      return {
        toAgent: (message: ReviewedMessage, to: string) => bound(toAgent, message, { to }),
        /** Contains nothing about the recipient. */
        toOtherAccount: (message: ReviewedMessage) => bound(toOtherAccount, message, {}),
        /** `activeSince` is the time since when a seen recipient counts as active. */
        toChannel: (message: ReviewedMessage, activeSince: number) => bound(toChannel, message, { activeSince }),
      }
    },
  }
}
