/** Messages that wait for the decision of a person. See docs/protocol/messages.md, "Held messages". */
import type { heldMessages as table } from '../../../db/schema.ts'
import { type AccountDb, boolean, json, precondition, query, type Statement, statement } from '../sql.ts'
import { inboxOf } from './inbox-message.ts'
import type { HeldDelivery, HeldFinding, HoldingRule, NewHeld } from './new-held.ts'
import type { MessageType, StoredPart } from './new-message.ts'
import type { TaskState } from './task-ends.ts'

type Row = typeof table.$inferSelect
export type HeldState = Row['state']

/** A message that is or was held, as the people of the account see it. */
export interface HeldRow {
  id: string
  messageId: string
  state: HeldState
  fromAlias: string
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  type: MessageType
  rule: HoldingRule
  findings: HeldFinding[]
  heldAt: number
  expiresAt: number
  decidedAt: number | null
  decidedBy: string | null
  decider: string | null
  reason: string | null
  edited: boolean
  body: string
}

/** The same, with what is needed to deliver it. `home`: the account of the sender. */
export interface HeldToDecide extends HeldRow {
  home: string
  fromAgentId: string
  fromAliasNow: string | null
  toId: string
  later: HeldDelivery
  sentAt: number
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  hops: number
  flagged: boolean
  sanitized: boolean
  sharedWith: string | null
  mayDecide: boolean
}

/** What its sender is told of it. Who decides in another account is not told. */
export interface HeldStatus {
  state: HeldState
  isOwn: boolean
  heldAt: number
  expiresAt: number
  decidedAt: number | null
  decider: string | null
  reason: string | null
  edited: boolean
  deciders: string[]
}

export interface Decided {
  state: 'approved' | 'refused' | 'expired'
  user: string | null
  decider: string | null
  reason: string | null
  edited: boolean
  at: number
}

const isAuthor = (user: string) =>
  `EXISTS (SELECT 1 FROM seats WHERE seats.account_id = held.sender_account_id AND seats.agent_id = held.from_agent_id
    AND seats.user_id = ${user})`
const isNamed = (user: string) => `${user} IN (SELECT value FROM json_each(held.rule, '$.deciders'))`
const namedIsLeft = `EXISTS (SELECT 1 FROM memberships AS named WHERE named.account_id = held.account_id
  AND named.role <> 'viewer' AND ${isNamed('named.user_id')} AND NOT ${isAuthor('named.user_id')})`
/** The member of the row `member` may decide on the row `held`. Nobody decides on what they wrote. */
const mayDecide = `(member.account_id = held.account_id AND member.role <> 'viewer'
  AND NOT ${isAuthor('member.user_id')} AND CASE
    WHEN held.rule ->> '$.id' IS NULL THEN member.role IN ('owner', 'admin')
    WHEN ${namedIsLeft} THEN ${isNamed('member.user_id')}
    ELSE member.role = 'owner' END)`
const userMayDecide = `EXISTS (SELECT 1 FROM memberships AS member WHERE member.user_id = :user AND ${mayDecide})`
// The sender may have sent chunks of an artifact that goes on: they are decided as one when it ends.
const isWhole = `(held.later ->> '$.step.chunk' IS NULL OR held.later ->> '$.step.chunk.lastChunk'
  OR held.later ->> '$.step.state' IN ('completed', 'failed', 'rejected', 'input-required', 'auth-required'))`

/** The members that may decide on the row `held`, as agents know them. */
const deciders = `(SELECT json_group_array(coalesce('@' || agents.alias, nullif(users.name, ''), member.role))
  FROM memberships AS member JOIN users ON users.id = member.user_id
  LEFT JOIN seats ON seats.account_id = member.account_id AND seats.user_id = member.user_id
  LEFT JOIN agents ON agents.account_id = seats.account_id AND agents.id = seats.agent_id
  WHERE ${mayDecide} LIMIT 10)`
const decidersOf = query<{ deciders: string[] }>(
  `SELECT ${deciders} AS deciders
  FROM (SELECT :account AS account_id, :account AS sender_account_id, :from AS from_agent_id, :heldRule AS rule) AS held`,
  { deciders: json },
)

const joinMessage = `JOIN messages ON messages.account_id = held.sender_account_id AND messages.id = held.message_id`
const columns = `held.id, held.message_id, held.state, held.rule, held.findings, held.held_at, held.expires_at,
  held.decided_at, held.decided_by, held.decider, held.reason, held.edited,
  messages.from_alias, messages.recipient, messages.type`
const decoders = { rule: json, findings: json, edited: boolean }
const inHeld = 'held_messages AS held'
const ofUser = query<HeldRow>(
  `
  SELECT ${columns}, messages.body FROM ${inHeld} ${joinMessage}
  WHERE held.account_id = :account AND held.state = 'held' AND held.expires_at > :at AND ${isWhole} AND ${userMayDecide}
  ORDER BY held.held_at, held.id LIMIT :limit`,
  decoders,
)
const countOfUser = query<{ n: number }>(`
  SELECT count(*) AS n FROM ${inHeld}
  WHERE held.account_id = :account AND held.state = 'held' AND held.expires_at > :at AND ${isWhole} AND ${userMayDecide}`)
const byId = query<HeldToDecide>(
  `
  SELECT ${columns}, messages.body, held.sender_account_id AS home, held.from_agent_id, held.to_id, held.later, held.sent_at,
    (SELECT agents.alias FROM agents WHERE agents.account_id = held.sender_account_id AND agents.id = held.from_agent_id
      AND agents.deleted_at IS NULL) AS from_alias_now,
    messages.reply_to_message_id, messages.conversation_id, messages.a2a, messages.hops, messages.flagged,
    messages.sanitized, messages.shared_with, ${isWhole} AND ${userMayDecide} AS may_decide
  FROM ${inHeld} ${joinMessage}
  WHERE held.account_id = :account AND held.id = :held`,
  { ...decoders, later: json, flagged: boolean, sanitized: boolean, mayDecide: boolean },
)
const partsOf = query<StoredPart>(`
  SELECT parts.id, parts.media_type, parts.encoding, parts.content, parts.bytes FROM ${inHeld}
  JOIN parts ON parts.account_id = held.sender_account_id AND parts.message_id = held.message_id
  WHERE held.account_id = :account AND held.id = :held ORDER BY parts.id`)
const decidedFilter = `held.account_id = :account AND held.decided_at IS NOT NULL
  AND (held.decided_at, held.id) < (:before, :beforeId) AND held.state IN ('approved', 'refused', 'expired')
  AND coalesce(held.state = :state, 1) AND coalesce(held.decided_by = :decidedBy, 1)
  AND coalesce(held.rule ->> '$.id' = :rule, 1)`
const sees = `(${userMayDecide} OR held.decided_by IS :user)`
const decided = query<Omit<HeldRow, 'body'> & { body: string | null }>(
  `
  SELECT ${columns}, iif(${sees}, messages.body, NULL) AS body FROM ${inHeld} ${joinMessage}
  WHERE ${decidedFilter} AND (:seesAll OR ${sees})
  ORDER BY held.decided_at DESC, held.id DESC LIMIT :limit`,
  decoders,
)
const ofMessage = query<HeldStatus>(
  `
  SELECT held.state, held.account_id = :account AS is_own, held.held_at, held.expires_at, held.decided_at,
    iif(held.account_id = :account, held.decider, NULL) AS decider, held.reason, held.edited,
    iif(held.account_id = :account AND held.state = 'held', ${deciders}, '[]') AS deciders
  FROM ${inHeld} WHERE held.sender_account_id = :account AND held.message_id = :message
  ORDER BY held.held_at, held.id`,
  { isOwn: boolean, edited: boolean, deciders: json },
)
export interface HeldChunk {
  id: string
  later: HeldDelivery
  body: string
  a2a: string | null
  parts: StoredPart[]
}

const heldChunk = query<HeldChunk>(
  `
  SELECT held.id, held.later, messages.body, messages.a2a, (
    SELECT json_group_array(json_object('id', parts.id, 'mediaType', parts.media_type, 'encoding', parts.encoding,
      'content', parts.content, 'bytes', parts.bytes))
    FROM parts WHERE parts.account_id = held.sender_account_id AND parts.message_id = held.message_id) AS parts
  FROM ${inHeld} ${joinMessage}
  WHERE held.sender_account_id = :account AND held.from_agent_id = :from AND held.task_id = :task AND held.state = 'held'
    AND NOT coalesce(held.later ->> '$.step.chunk.lastChunk', 1)
    AND coalesce(held.later ->> '$.step.chunk.artifactId' = :artifact, 1)
  ORDER BY held.held_at DESC, held.id DESC LIMIT 1`,
  { later: json, parts: json },
)

const isMessage = 'messages.account_id = :account AND messages.id = :message'
const add = statement(`
  INSERT INTO held_messages (account_id, id, sender_account_id, message_id, from_agent_id, to_id, task_id, state, rule,
    findings, later, sent_at, held_at, expires_at)
  SELECT :heldIn, :id, :account, messages.id, messages.from_agent_id, :toId, :task, 'held', :rule, :findings, :later,
    :sentAt, :at, :expiresAt
  FROM messages WHERE ${isMessage}
  ON CONFLICT DO NOTHING`)
// A browser is told after 5 seconds, and once a minute at most.
const tell = statement(`
  INSERT INTO push_notices (account_id, subscription_id, thread_id, kind, first_seq, last_seq, due_at)
  SELECT held.account_id, push_subscriptions.id, 0, 'held', held.held_at, held.held_at, held.held_at + 5000
  FROM ${inHeld} JOIN push_subscriptions ON push_subscriptions.account_id = held.account_id
  JOIN memberships AS member ON member.account_id = held.account_id AND member.user_id = push_subscriptions.user_id
  WHERE held.sender_account_id = :account AND held.message_id = :message AND held.id = :id AND ${mayDecide}
  ON CONFLICT (account_id, subscription_id, thread_id, kind) DO UPDATE
    SET last_seq = excluded.last_seq, due_at = coalesce(due_at, max(excluded.due_at, pushed_at + 60000))`)
const isHeldBy = (held: string) =>
  `EXISTS (SELECT 1 FROM held_messages WHERE held_messages.sender_account_id = :account
    AND held_messages.message_id = :message AND held_messages.id = ${held} AND held_messages.state = 'held')`
const setAside = statement(`UPDATE messages SET seq = -abs(seq) WHERE ${isMessage} AND ${isHeldBy(':id')}`)

// A unit that is sent again finds its own decision.
const requireUndecided = precondition(`EXISTS (
  SELECT 1 FROM ${inHeld} WHERE held.account_id = :account AND held.id = :held AND (
    (held.state = 'held' AND (:user IS NULL OR held.expires_at > :at AND ${isWhole} AND ${userMayDecide}))
    OR (held.state = :state AND held.decided_by IS :user AND held.decided_at = :at)))`)
const decide = statement(`
  UPDATE held_messages SET state = :state, decided_at = :at, decided_by = :user, decider = :decider, reason = :reason,
    edited = :edited
  WHERE account_id = :account AND id = :held AND state = 'held'`)
// What follows the log has not seen the message yet, so it gets the next number. Each is given once.
const nextNumber = statement(`UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'messages'`)
const number = statement(`
  UPDATE messages SET seq = (SELECT numbered.seq FROM sqlite_sequence AS numbered WHERE numbered.name = 'messages'),
    created_at = :at, body = :body, a2a = :a2a, flagged = :flagged, shared_with = :sharedWith,
    edited = edited OR :edited
  WHERE messages.account_id = :account AND messages.id = :message AND messages.seq < 0`)
const change = statement(`
  UPDATE messages SET body = :body, a2a = :a2a, flagged = :flagged, shared_with = :sharedWith, edited = edited OR :edited
  WHERE messages.account_id = :account AND messages.id = :message AND messages.seq < 0`)
const removeParts = statement(`DELETE FROM parts WHERE account_id = :account AND message_id = :message`)
const endOf = (which: string) =>
  statement(`
    UPDATE held_messages SET state = :state, decided_at = :at
    WHERE sender_account_id = :account AND state = 'held' AND ${which}`)
const retract = endOf('message_id = :message')
const join = endOf('id = :held')
const requireHeld = precondition(`EXISTS (SELECT 1 FROM held_messages AS held
  WHERE held.sender_account_id = :account AND held.id = :held AND (held.state = 'held' OR EXISTS (
    SELECT 1 FROM messages WHERE ${isMessage})))`)
const endChunk = statement(`
  UPDATE held_messages SET later = json_set(later, '$.step.chunk.lastChunk', json('true'), '$.step.state', :state)
  WHERE sender_account_id = :account AND id = :held AND state = 'held'`)

// To itself, because the recipient of the message must learn nothing. A remote agent has no use for it.
const addNotice = statement(`
  INSERT INTO messages (account_id, id, from_agent_id, from_alias, type, recipient, reply_to_message_id, created_at, body)
  SELECT messages.account_id, :notice, agents.id, agents.alias, 'system', '@' || agents.alias, messages.id, :at, :text
  FROM messages JOIN agents ON agents.account_id = messages.account_id AND agents.id = messages.from_agent_id
    AND agents.deleted_at IS NULL AND agents.remote_url IS NULL
  WHERE ${isMessage}
  ON CONFLICT DO NOTHING`)
const deliverNotice = statement(`
  INSERT INTO deliveries (account_id, agent_id, sender_account_id, message_id, state, chars, created_at, inbox)
  SELECT messages.account_id, messages.from_agent_id, messages.account_id, messages.id, 'unread', :chars, :at,
    ${inboxOf('messages.from_agent_id', 'messages.account_id')}
  FROM messages WHERE messages.account_id = :account AND messages.id = :notice
  ON CONFLICT DO NOTHING`)

/** What of a message a decision may change. */
export interface ChangedText {
  body: string
  a2a: string | null
  flagged: boolean
  sharedWith: string | null
  edited: boolean
}

export interface DecisionFilter {
  /** Decided before this one: its time, and its id. */
  before: { at: number; id: string }
  state?: HeldState
  decidedBy?: string
  rule?: string
  limit: number
}

export const held = {
  reads: (account: AccountDb) => ({
    /** What waits for a user, the oldest first. */
    ofUser: (user: string, at: number, limit: number) => account.all(ofUser, { user, at, limit }),
    countOfUser: async (user: string, at: number) => (await account.one(countOfUser, { user, at }))!.n,
    byId: (held: string, user: string | null) => account.one(byId, { held, user }),
    parts: (held: string) => account.all(partsOf, { held }),
    /** Decisions, the newest first: all, or those that the user made or could have made. Only these have their text. */
    decided: (user: string, seesAll: boolean, { before, state, decidedBy, rule, limit }: DecisionFilter) =>
      account.all(decided, {
        ...{ user, seesAll, before: before.at, beforeId: before.id, limit },
        ...{ state: state ?? null, decidedBy: decidedBy ?? null, rule: rule ?? null },
      }),
    /** What its sender is told of a message that was held, the oldest first. */
    ofMessage: (message: string) => account.all(ofMessage, { message }),
    /** Who may decide on a message of an agent of this account, by alias or name. */
    deciders: async (rule: HoldingRule, from: string): Promise<string[]> =>
      (await account.one(decidersOf, { heldRule: JSON.stringify(rule), from }))!.deciders,
    /** The held chunks of an artifact that goes on; without the id of one, those that were held last. */
    chunk: (from: string, task: string, artifact: string | null) => account.one(heldChunk, { from, task, artifact }),
  }),
  changes: (account: AccountDb) => ({
    /** Hold a message that this unit stores, or that is held by another account already. */
    add: ({ id, heldIn, toId, rule, findings, later, sentAt, expiresAt }: NewHeld, message: string, at: number) => [
      account.bind(add, {
        ...{ id, message, toId, at, sentAt, expiresAt, heldIn: heldIn ?? account.accountId },
        ...{ task: later.step ? later.taskId : null, later: JSON.stringify(later) },
        ...{ rule: JSON.stringify(rule), findings: JSON.stringify(findings) },
      }),
      account.bind(setAside, { id, message }),
      account.bind(tell, { id, message }),
    ],
    /** Fails the unit unless the message is held, and the user may decide on it now. */
    decide: (held: string, { user, decider, state, reason, edited, at }: Decided): Statement[] => [
      account.bind(requireUndecided, { held, user, state, at }),
      account.bind(decide, { held, state, at, user, decider, reason, edited }),
    ],
    /** In the account of the sender: number the message as the newest, as it is delivered. */
    number: (message: string, text: ChangedText, at: number): Statement[] => [
      account.bind(nextNumber),
      account.bind(number, { message, at, ...text }),
    ],
    /** In the account of the sender: what the decision changed in a message that stays held. */
    change: (message: string, text: ChangedText): Statement => account.bind(change, { message, ...text }),
    removeParts: (message: string): Statement => account.bind(removeParts, { message }),
    retract: (message: string, at: number): Statement => account.bind(retract, { message, at, state: 'retracted' }),
    /** Fails the unit of a message unless these chunks are held: the message has their content. */
    requireHeld: (held: string, message: string): Statement => account.bind(requireHeld, { held, message }),
    join: (held: string, at: number): Statement => account.bind(join, { held, at, state: 'joined' }),
    /** The artifact of these chunks has ended, with this state of its task. */
    endChunk: (held: string, state: TaskState | null): Statement => account.bind(endChunk, { held, state }),
    /** In the account of the sender: tell it what became of its message. */
    notify: (notice: string, message: string, text: string, at: number): Statement[] => [
      account.bind(addNotice, { notice, message, text, at }),
      account.bind(deliverNotice, { notice, chars: text.length, at }),
    ],
  }),
}
