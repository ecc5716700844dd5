/** The account's outgoing messages: the statements of a send, and lookups of sent messages. */
import type { RemotePresence } from '../../presence.ts'
import {
  type AccountDb,
  boolean,
  precondition,
  query,
  type Statement,
  statement,
  traffic,
  type Values,
} from '../sql.ts'
import { remoteAsJson } from './agent-columns.ts'
import { acceptsMessagesOf } from './directory.ts'
import { deliver, makeMessageDue } from './deliver.ts'
import { agentOf, countedUnread, type InboxMessage } from './inbox-message.ts'
import {
  addingKey,
  type GuardedReceipt,
  type InboxAddress,
  isNewKey,
  lengthOf,
  type NewMessage,
  type ReviewedMessage,
} from './new-message.ts'
import { type FullInbox, fullInboxAsJson, hasRoom, isWithinDay, type Quotas } from './usage.ts'

const recipientAccepts = `EXISTS (
  SELECT 1 FROM agents AS recipient
  WHERE recipient.account_id = :toAccount AND recipient.id = :to AND recipient.deleted_at IS NULL
    AND (recipient.account_id = :account OR ${
  acceptsMessagesOf('recipient', { alias: 'sender.alias', id: 'sender.id' })
}))`
const senderIsMember = `EXISTS (
  SELECT 1 FROM channel_members
  JOIN channels ON channels.account_id = channel_members.account_id AND channels.id = channel_members.channel_id
  WHERE channel_members.account_id = :account AND channel_members.channel_id = :channel
    AND channel_members.agent_id = :from AND channels.deleted_at IS NULL)`

const add = (channel: string, condition: string) =>
  // Only a person's agent sends messages of type `human`. It sends no other type, except for messages that the person
  // wrote outside the grid and a program delivered.
  traffic(`
    INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, channel_id, reply_to_message_id,
      conversation_id, flagged, created_at, trial_number, sanitized, hops, shared_with, via, traceparent, body, a2a)
    SELECT sender.account_id, :id, sender.id, sender.alias, :type, :recipient, ${channel}, :replyToMessageId,
      :conversationId, :flagged, :at,
      (SELECT trials.used + 1 FROM trials WHERE trials.account_id = :account AND trials.agent_id = :from),
      :sanitized, :hops, :sharedWith, :via, :traceparent, :body, :a2a
    FROM agents AS sender
    WHERE sender.account_id = :account AND sender.id = :from AND sender.deleted_at IS NULL
      AND ((sender.type = 'human') = (:type = 'human') OR (:type = 'agent' AND :via IS NOT NULL))
      AND NOT EXISTS (SELECT 1 FROM trials WHERE trials.account_id = :account AND trials.agent_id = :from
        AND (trials.used >= trials.max OR trials.expires_at <= :at OR trials.ended_at IS NOT NULL))
      AND ${isNewKey}
      AND ${isWithinDay}
      AND ${condition}
    ON CONFLICT DO NOTHING`)
const accepts = (condition: string) =>
  precondition(`EXISTS (SELECT 1 FROM agents AS sender
    WHERE sender.account_id = :account AND sender.id = :from AND sender.deleted_at IS NULL AND ${condition})`)
const requireRecipient = accepts(`${recipientAccepts} AND ${hasRoom}`)
const requireMember = accepts(senderIsMember)
const addDirect = add('NULL', `${recipientAccepts} AND ${hasRoom}`)
const addPost = add(':channel', senderIsMember)

const isStored = 'messages.account_id = :account AND messages.id = :id'
const requireStored = precondition(`EXISTS (SELECT 1 FROM messages WHERE ${isStored})`)
const numberOfMessage = `(SELECT messages.trial_number FROM messages WHERE ${isStored})`
// Uses the number stored with the message. So a retry does not count twice, and a refused send does not count.
const countTrial = statement(`
  UPDATE trials SET used = max(used, ${numberOfMessage})
  WHERE account_id = :account AND agent_id = :from AND EXISTS ${numberOfMessage}`)

// A delivery that exists only in its task does not wait in the inbox.
const deliverDirect = traffic(deliver({ account: ':toAccount', agent: ':to' }, `messages WHERE ${isStored}`, {
  state: `iif(:isInTaskAlone, 'task', 'unread')`,
  read_at: 'iif(:isInTaskAlone, :at, NULL)',
  external_id: ':external',
  task_id: ':task',
  expires_at: ':expiresAt',
}))
const makeDue = traffic(makeMessageDue)
const addKey = traffic(addingKey(`messages WHERE ${isStored}`))

interface SentRow {
  id: string
  recipient: string
  conversationId: string | null
  createdAt: number
  sanitized: boolean
  hops: number
}

// A held message's `created_at` is its delivery time, so its send time comes from `held_messages`.
const sentAt = `coalesce((SELECT min(held.sent_at) FROM held_messages AS held
  WHERE held.sender_account_id = messages.account_id AND held.message_id = messages.id), messages.created_at)`
const sentColumns =
  `messages.id, messages.recipient, messages.conversation_id, ${sentAt} AS created_at, messages.sanitized, messages.hops`
const sent = query<
  SentRow & { fromAlias: string; sharedWith: string | null; traceparent: string | null; isExternal: number }
>(
  `SELECT ${sentColumns}, messages.from_alias, messages.shared_with, messages.traceparent, 0 AS is_external FROM messages WHERE ${isStored} AND messages.from_agent_id = :from`,
  { sanitized: boolean },
)
const byKey = query<
  SentRow & { home: string | null; requestHash: string; receipt: string | null; error: string | null }
>(
  `
  SELECT ${sentColumns}, nullif(idempotency_keys.sender_account_id, :account) AS home, idempotency_keys.request_hash, idempotency_keys.receipt, NULL AS error
  FROM idempotency_keys
  JOIN messages ON messages.account_id = idempotency_keys.sender_account_id
    AND messages.id = idempotency_keys.message_id
  WHERE idempotency_keys.account_id = :account AND idempotency_keys.agent_id = :from AND idempotency_keys.key = :key
    AND idempotency_keys.created_at > :since
  UNION ALL
  SELECT NULL, NULL, NULL, created_at, 0, 0, NULL, request_hash, NULL, error FROM blocked_sends
  WHERE account_id = :account AND agent_id = :from AND key = :key AND created_at > :since`,
  { sanitized: boolean },
)

const states = query<Pick<InboxMessage, 'state'>>(`
  SELECT DISTINCT deliveries.state FROM deliveries JOIN messages ON messages.seq = deliveries.seq WHERE ${isStored}`)

export const messages = {
  reads: (account: AccountDb) => ({
    sent: (id: string, from: string) => account.one(sent, { id, from }),
    /** The states of a message's deliveries. */
    states: async (id: string) => (await account.all(states, { id })).map(({ state }) => state),
    /**
     * The send that an agent made with this key after `since`. `error` is JSON of the error that blocked it. `home` is
     * the account in which it was sent, if a claim has since moved the agent.
     */
    byKey: (from: string, key: string, since: number) => account.one(byKey, { from, key, since }),
  }),
  changes: (account: AccountDb) => ({
    addDirect: (message: NewMessage, to: InboxAddress, quotas: Quotas) =>
      account.bind(addDirect, {
        ...message,
        ...quotas,
        toAccount: to.home ?? account.accountId,
        to: to.agentId,
      }),
    addPost: (message: NewMessage, channel: string, quotas: Quotas) =>
      account.bind(addPost, { ...message, ...quotas, channel, toAccount: account.accountId, to: null }),
    /** Requires the same conditions as `addDirect`, for a message that is already stored. */
    requireRecipient: ({ from }: NewMessage, to: InboxAddress, { maxUnread }: Quotas) =>
      account.bind(requireRecipient, { from, to: to.agentId, toAccount: to.home ?? account.accountId, maxUnread }),
    /** Like `requireRecipient`, but for a post. */
    requireMember: ({ from }: NewMessage, channel: string) => account.bind(requireMember, { from, channel }),
    requireStored: ({ id }: NewMessage) => account.bind(requireStored, { id }),
    countTrial: ({ id, from }: NewMessage) => account.bind(countTrial, { id, from }),
    deliver: (message: NewMessage, { agentId, home, isRemote }: InboxAddress): Statement[] => {
      const { id, at, from, taskId, isInTaskAlone, expiresAt } = message
      return [
        account.bind(deliverDirect, {
          id,
          at,
          isInTaskAlone,
          toAccount: home ?? account.accountId,
          to: agentId,
          external: home === undefined ? null : from,
          chars: lengthOf(message),
          task: taskId,
          expiresAt,
        }),
        ...isRemote && !isInTaskAlone ? [account.bind(makeDue, { id })] : [],
      ]
    },
    addKey: ({ id, from, key, keysSince, at }: NewMessage, requestHash: string) =>
      account.bind(addKey, { id, from, key, keysSince, requestHash, at }),
  }),
}

const joinAgents = `JOIN agents ON agents.account_id = channel_members.account_id
  AND agents.id = channel_members.agent_id`
const isRecipient = `channel_members.account_id = :account AND channel_members.channel_id = :channel
  AND channel_members.agent_id <> :from AND agents.deleted_at IS NULL AND agents.type <> 'hook' AND ${isStored}`
/** In larger channels, a post wakes only the members that it names or answers. */
const maxWoken = 5
const isQuiet = `CASE coalesce(channel_members.wake, iif((SELECT count(*) FROM channel_members AS other
    WHERE other.account_id = :account AND other.channel_id = :channel) > ${maxWoken}, 'mentions', 'all'))
  WHEN 'none' THEN 1 WHEN 'mentions' THEN agents.alias NOT IN (SELECT value FROM json_each(:mentioned)) ELSE 0 END`
const toMembers = (condition = '') =>
  traffic(`${
    deliver(
      { account: 'channel_members.account_id', agent: 'channel_members.agent_id' },
      `messages CROSS JOIN channel_members ${joinAgents} WHERE ${isRecipient} ${condition}`,
      { body: ':body', a2a: ':a2a', flagged: ':flagged', expires_at: ':expiresAt', quiet: isQuiet },
    )
  } RETURNING ${agentOf()} AS agent_id`)
const toAll = toMembers()
const toOthers = toMembers('AND channel_members.agent_id NOT IN (SELECT value FROM json_each(:agents))')
const toThese = toMembers('AND channel_members.agent_id IN (SELECT value FROM json_each(:agents))')

export const fanOut = {
  reads: () => ({}),
  changes: (account: AccountDb) => ({
    /**
     * Adds one delivery for each live member, except the sender and members whose guardrails blocked the post. Returns
     * `agent_id`. `named`: the aliases in the post's text.
     */
    toMembers: (
      message: ReviewedMessage,
      channel: string,
      members: number,
      named: readonly string[],
    ): Statement[] => {
      const { id, at, from, expiresAt, guarded, replyFrom } = message
      const values = {
        id,
        at,
        from,
        channel,
        expiresAt,
        chars: lengthOf(message),
        body: null,
        a2a: null,
        flagged: false,
        mentioned: JSON.stringify([...named, ...replyFrom === null ? [] : [replyFrom]]),
      }
      const changed = guarded?.deliveries ?? []
      // Needed for every post, because an agent that joined after the members were read may be remote.
      const due = account.bind(makeDue, { id })
      if (changed.length === 0) return [{ ...account.bind(toAll, values), rows: members }, due]
      const agents = JSON.stringify(changed.flatMap(({ agentIds }) => agentIds))
      return [
        { ...account.bind(toOthers, { ...values, agents }), rows: members },
        ...changed.flatMap(({ agentIds, copy }) => {
          const bound = { ...values, ...copy, flagged: true, agents: JSON.stringify(agentIds) }
          return copy ? [{ ...account.bind(toThese, bound), rows: agentIds.length }] : []
        }),
        due,
      ]
    },
  }),
}

/** Times are milliseconds since the epoch. A field that does not apply is undefined. */
export interface SendReceipt extends GuardedReceipt {
  unread: number
  /** Unread messages of a recipient in the same account, including this one; 100 stands for 100 or more. */
  recipientUnread?: number
  recipientSeenAt?: number | null
  /** A task that the sender works on for the recipient. */
  openTask?: string | null
  /** Set if the recipient is in the same account and its inbox is nearly full. */
  recipientInbox?: FullInbox | null
  /** Set if the recipient is a remote agent. */
  recipientRemote?: RemotePresence
  /** How many other members the channel has, and how many were seen recently. */
  recipients?: number
  recipientsActive?: number
  /** How many members the post wakes, if not all. */
  recipientsWoken?: number
}

const unread = countedUnread(':from')
const recipients = (condition = '') =>
  `(
  SELECT count(*) FROM messages
  JOIN deliveries ON deliveries.seq = messages.seq
  JOIN agents ON agents.account_id = :account AND agents.id = ${agentOf()} ${condition}
  WHERE ${isStored})`
const seenAt = '(SELECT agents.last_seen_at FROM agents WHERE agents.account_id = :account AND agents.id = :to)'

const openTask = `(SELECT tasks.id FROM tasks
  WHERE tasks.recipient_account_id = :account AND tasks.recipient_agent_id = :from AND tasks.account_id = :toAccount
    AND tasks.client_agent_id = :to AND tasks.state = 'working' ORDER BY tasks.id LIMIT 1)`
const ofAnyAgent = `'unread', ${unread}, 'openTask', ${openTask}`

const toOtherAccount = prepared(`json_object(${ofAnyAgent})`)
const ofRecipient = `${ofAnyAgent}, 'recipientUnread', ${
  countedUnread(':to')
}, 'recipientSeenAt', ${seenAt}, 'recipientInbox', json(${fullInboxAsJson})`
const toAgent = prepared(`json_object(${ofRecipient})`)
const toRemoteAgent = prepared(
  `json_object(${ofRecipient}, 'recipientRemote', json(${remoteAsJson(':account', ':to')}))`,
)
const toChannel = prepared(`json_object('unread', ${unread}, 'recipients', ${recipients()},
  'recipientsActive', ${recipients('AND agents.last_seen_at > :activeSince')},
  'recipientsWoken', ${recipients('AND NOT deliveries.quiet')})`)

function prepared(receipt: string) {
  return { ...variant(receipt), guarded: variant(`json_patch(${receipt}, :guarded)`) }
}

function variant(receipt: string) {
  return {
    read: statement(`SELECT ${receipt} AS receipt FROM messages WHERE account_id = :account AND id = :id LIMIT 1`),
    // Stored once, so a retry of the send returns the first receipt.
    store: traffic(`
      UPDATE idempotency_keys SET receipt = coalesce(receipt, ${receipt})
      WHERE account_id = :account AND agent_id = :from AND key = :key AND message_id = :id
      RETURNING receipt`),
  }
}

export const receipts = {
  reads: () => ({}),
  changes: (account: AccountDb) => {
    /** A receipt is stored with the send's idempotency key, if it has one. */
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
      toAgent: (message: ReviewedMessage, to: string, quotas: Quotas) =>
        bound(toAgent, message, { ...quotas, to, toAccount: account.accountId }),
      toRemoteAgent: (message: ReviewedMessage, to: string, quotas: Quotas) =>
        bound(toRemoteAgent, message, { ...quotas, to, toAccount: account.accountId }),
      toOtherAccount: (message: ReviewedMessage, to: string, home: string) =>
        bound(toOtherAccount, message, { to, toAccount: home }),
      /** A recipient seen since `activeSince` counts as active. */
      toChannel: (message: ReviewedMessage, activeSince: number) => bound(toChannel, message, { activeSince }),
    }
  },
}
