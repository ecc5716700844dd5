/** What a send tells its sender besides the id. It is counted in the unit of the send, so it is true at the commit. */
import { type AccountDb, type Statement, statement, type Values } from '../sql.ts'
import type { GuardedReceipt, ReviewedMessage } from './new-message.ts'
import { countOfUnread } from './unread.ts'

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

const unread = `(${countOfUnread(':from')})`
const recipients = (condition = '') =>
  `(
  SELECT count(*) FROM deliveries
  JOIN agents ON agents.account_id = deliveries.account_id AND agents.id = deliveries.agent_id ${condition}
  WHERE deliveries.account_id = :account AND deliveries.message_id = :id AND deliveries.sender_account_id = :account)`
const seenAt = '(SELECT agents.last_seen_at FROM agents WHERE agents.account_id = :account AND agents.id = :to)'

const toOtherAccount = prepared(`json_object('unread', ${unread})`)
const toAgent = prepared(
  `json_object('unread', ${unread}, 'recipientUnread', (${countOfUnread(':to')}), 'recipientSeenAt', ${seenAt})`,
)
const toChannel = prepared(`json_object('unread', ${unread}, 'recipients', ${recipients()},
  'recipientsActive', ${recipients('AND agents.last_seen_at > :activeSince')})`)

function prepared(receipt: string) {
  return { ...variant(receipt), guarded: variant(`json_patch(${receipt}, :guarded)`) }
}

function variant(receipt: string) {
  return {
    read: statement(`SELECT ${receipt} AS receipt FROM messages WHERE account_id = :account AND id = :id LIMIT 1`),
    // Stored once: a repeat of the send gets the first receipt.
    store: statement(`
      UPDATE idempotency_keys SET receipt = coalesce(receipt, ${receipt})
      WHERE account_id = :account AND agent_id = :from AND key = :key AND message_id = :id
      RETURNING receipt`),
  }
}

export const receipts = {
  reads: () => ({}),
  changes: (account: AccountDb) => {
    /** A receipt is stored with the idempotency key of the send, if it has one. */
    const bound = (
      receipt: typeof toAgent,
      message: ReviewedMessage,
      more: Values,
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
