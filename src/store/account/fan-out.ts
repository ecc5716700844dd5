/** The deliveries of a post: one for each member of the channel. */
import { inboxOf } from './inbox-number.ts'
import { type AccountDb, statement } from '../sql.ts'
import { lengthOf, type ReviewedMessage } from './new-message.ts'

const inbox = inboxOf('channel_members.agent_id', 'channel_members.account_id')
const joinAgents = `JOIN agents ON agents.account_id = channel_members.account_id
  AND agents.id = channel_members.agent_id`
const isRecipient = `channel_members.account_id = :account AND channel_members.channel_id = :channel
  AND channel_members.agent_id <> :from AND agents.deleted_at IS NULL
  AND EXISTS (SELECT 1 FROM messages WHERE messages.account_id = :account AND messages.id = :id)`
const toMembers = statement(`
  INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, inbox)
  SELECT channel_members.account_id, channel_members.agent_id, :account, :id, 'unread', :chars, :at, ${inbox}
  FROM channel_members ${joinAgents}
  WHERE ${isRecipient}
  ON CONFLICT DO NOTHING
  RETURNING agent_id`)
const toMembersChanged = statement(`
  INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, inbox,
    body, a2a, flagged)
  SELECT channel_members.account_id, channel_members.agent_id, :account, :id, 'unread',
    coalesce(change.value ->> '$.chars', :chars), :at, ${inbox},
    change.value ->> '$.body', change.value ->> '$.a2a', coalesce(change.value ->> '$.flagged', 0)
  FROM channel_members ${joinAgents}
  LEFT JOIN json_each(:changes) AS change ON change.key = channel_members.agent_id
  WHERE ${isRecipient} AND coalesce(change.value ->> '$.isLeftOut', 0) = 0
  ON CONFLICT DO NOTHING
  RETURNING agent_id`)

export const fanOut = {
  reads: () => ({}),
  changes: (account: AccountDb) => ({
    /**
     * One delivery for each live member except the sender and those whose guardrails blocked the post. Returns a row
     * with `agent_id` for each. `members` is about how many there are, for the write queue.
     */
    toMembers: (message: ReviewedMessage, channel: string, members: number) => {
      const { id, at, from, guarded } = message
      const values = { id, at, from, channel, chars: lengthOf(message) }
      if (!guarded?.deliveries.length) return { ...account.bind(toMembers, values), rows: members }
      const changes = JSON.stringify(Object.fromEntries(guarded.deliveries.map((change) => [change.agentId, change])))
      return { ...account.bind(toMembersChanged, { ...values, changes }), rows: members }
    },
  }),
}
