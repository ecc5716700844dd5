/** What happened to the messages that agents of the account sent, read from the sender's end of each delivery. */
import type { agents, deliveries } from '../../../db/schema.ts'
import { type AccountDb, query } from '../sql.ts'

/** One recipient of a message. `isOwn` and `isLeased` are 0 or 1. */
export interface RecipientStatus {
  alias: string
  type: typeof agents.$inferSelect.type
  state: typeof deliveries.$inferSelect.state
  createdAt: number
  wokenAt: number | null
  readAt: number | null
  isOwn: number
  isLeased: number
}

// Only leases that expire: all others end with the answer of a read. Those of other accounts are not shown.
const of = query<RecipientStatus>(`
  SELECT agents.alias, agents.type, deliveries.state, deliveries.created_at, deliveries.woken_at, deliveries.read_at,
    deliveries.account_id = deliveries.sender_account_id AS is_own,
    EXISTS (SELECT 1 FROM leases WHERE leases.account_id = :account AND leases.id = deliveries.lease_id
      AND leases.expires_at IS NOT NULL) AS is_leased
  FROM deliveries
  JOIN agents ON agents.account_id = deliveries.account_id AND agents.id = deliveries.agent_id
  WHERE deliveries.sender_account_id = :account AND deliveries.message_id = :id
  ORDER BY deliveries.read_at, agents.alias`)

// Only of recipients in the same account. Other accounts do not show how their agents read.
const released = query<{ alias: string; leasedAt: number; releasedAt: number }>(`
  SELECT agents.alias, lease_releases.leased_at, lease_releases.released_at FROM lease_releases
  JOIN agents ON agents.account_id = lease_releases.account_id AND agents.id = lease_releases.agent_id
  WHERE lease_releases.account_id = :account AND lease_releases.sender_account_id = :account
    AND lease_releases.message_id = :id
  ORDER BY lease_releases.released_at DESC LIMIT :limit`)

// Only replies to the agent itself: a reply to another agent is not shown.
const replies = query<{ alias: string; createdAt: number }>(`
  SELECT messages.from_alias AS alias, messages.created_at FROM messages
  JOIN deliveries ON deliveries.message_id = messages.id AND deliveries.sender_account_id = messages.account_id
    AND deliveries.account_id = :account AND deliveries.agent_id = :agent
  WHERE messages.reply_to_message_id = :id
  ORDER BY deliveries.seq DESC LIMIT :limit`)

export const messageStatus = {
  reads: (account: AccountDb) => ({
    /** The recipients of a message of this account, and when each of them read it. */
    of: (id: string) => account.all(of, { id }),
    /** Its released leases, newest first. */
    released: (id: string, limit: number) => account.all(released, { id, limit }),
    /** Replies to it that were sent to an agent, newest first. */
    replies: (id: string, agent: string, limit: number) => account.all(replies, { id, agent, limit }),
  }),
  changes: () => ({}),
}
