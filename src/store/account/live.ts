/** What pages of the account show that changes without a new message. See docs/delivery.md, "Live pages". */
import { inboxOf, maxCountedUnread } from './inbox-message.ts'
import { type AccountDb, query } from '../sql.ts'

interface NewestMessage {
  seq: number
  at: number
  channelId: string | null
  fromAgentId: string
}

const selectNewest = `SELECT messages.seq, messages.created_at AS at, messages.channel_id, messages.from_agent_id
  FROM (
    SELECT account_id, seq FROM thread_messages WHERE account_id = :account AND thread_id = :thread
    ORDER BY seq DESC LIMIT :limit) AS place
  JOIN messages ON messages.seq = place.seq`
// A message of another account has one recipient in this one.
const newest = query<NewestMessage>(`
  ${selectNewest} AND messages.account_id = place.account_id
  UNION ALL
  ${selectNewest}
  JOIN deliveries ON deliveries.message_id = messages.id AND deliveries.sender_account_id = messages.account_id
    AND deliveries.account_id = place.account_id
  WHERE messages.account_id <> place.account_id`)
const presence = query<{ agentId: string; lastSeenAt: number | null; queue: number }>(`
  SELECT id AS agent_id, last_seen_at, (SELECT count(*) FROM (
    SELECT 1 FROM deliveries
    WHERE deliveries.inbox = ${inboxOf('agents.id', 'agents.account_id')} AND deliveries.account_id = :account
      AND deliveries.state = 'unread'
    LIMIT ${maxCountedUnread})) AS queue
  FROM agents WHERE account_id = :account AND deleted_at IS NULL
  ORDER BY last_seen_at DESC LIMIT :limit`)

export const live = {
  reads: (account: AccountDb) => ({
    /** The newest messages of a thread, without their texts. */
    newest: (thread: number, limit: number) => account.all(newest, { thread, limit }),
    /** The agents that were seen last: when, and how many messages are unread, up to 100. */
    presence: (limit: number) => account.all(presence, { limit }),
  }),
  changes: () => ({}),
}
