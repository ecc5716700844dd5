/** Messages that wait for a person's decision. See docs/protocol/messages.md, "Held messages". */
import type { heldMessages as table } from '../../../db/schema.ts'
import { type AccountDb, boolean, json, query } from '../sql.ts'
import { deciders, isWhole, userMayDecide } from './deciders.ts'
import { heldChanges } from './held-changes.ts'
import type { HeldDelivery, HeldFinding, HoldingRule } from './new-held.ts'
import type { MessageType, StoredPart } from './new-message.ts'

type Row = typeof table.$inferSelect
export type HeldState = Row['state']

/** A message that is or was held, as the account's people see it. */
export interface HeldRow {
  id: string
  messageId: string
  state: HeldState
  fromAlias: string
  /** The recipient as addressed: `@alias` or `#name`. */
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
  via: 'slack' | 'hook' | null
}

/** A held message with the data needed to deliver it. `home`: the sender's account. */
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

/** The state of a held message, as shown to its sender. People of another account are not named. */
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

const decidersOf = query<{ deciders: string[] }>(
  `SELECT ${deciders} AS deciders
  FROM (SELECT :account AS account_id, :account AS sender_account_id, :from AS from_agent_id, :heldRule AS rule) AS held`,
  { deciders: json },
)

const joinMessage = `JOIN messages ON messages.account_id = held.sender_account_id AND messages.id = held.message_id`
const columns = `held.id, held.message_id, held.state, held.rule, held.findings, held.held_at, held.expires_at,
  held.decided_at, held.decided_by, held.decider, held.reason, held.edited,
  messages.from_alias, messages.recipient, messages.type, messages.via`
const decoders = { rule: json, findings: json, edited: boolean }
const inHeld = 'held_messages AS held'
const ofUser = query<HeldRow>(
  `
  SELECT ${columns}, messages.body FROM ${inHeld} ${joinMessage}
  WHERE held.account_id = :account AND held.state = 'held' AND held.expires_at > :at AND ${isWhole} AND ${userMayDecide}
  ORDER BY held.expires_at, held.id LIMIT :limit`,
  decoders,
)
const countOfUser = query<{ count: number; firstEndsAt: number | null }>(`
  SELECT count(*) AS count, min(held.expires_at) AS first_ends_at FROM ${inHeld}
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
  AND (:state IS NULL OR held.state = :state) AND (:decidedBy IS NULL OR held.decided_by = :decidedBy)
  AND (:rule IS NULL OR held.rule ->> '$.id' = :rule)`
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

export interface DecisionFilter {
  /** Selects the decisions before the one with this time and id. */
  before: { at: number; id: string }
  state?: HeldState
  decidedBy?: string
  rule?: string
  limit: number
}

export const held = {
  reads: (account: AccountDb) => ({
    /** Messages that wait for a user, by expiry. */
    ofUser: (user: string, at: number, limit: number) => account.all(ofUser, { user, at, limit }),
    countOfUser: async (user: string, at: number) => (await account.one(countOfUser, { user, at }))!,
    byId: (held: string, user: string | null) => account.one(byId, { held, user }),
    parts: (held: string) => account.all(partsOf, { held }),
    /** Decisions, newest first. With `seesAll`, also decisions that the user could not make, but without their text. */
    decided: (user: string, seesAll: boolean, { before, state, decidedBy, rule, limit }: DecisionFilter) =>
      account.all(decided, {
        ...{ user, seesAll, before: before.at, beforeId: before.id, limit },
        ...{ state: state ?? null, decidedBy: decidedBy ?? null, rule: rule ?? null },
      }),
    /** A message's held events for its sender, oldest first. */
    ofMessage: (message: string) => account.all(ofMessage, { message }),
    /** Who may decide on a message of one of this account's agents, by alias or name. */
    deciders: async (rule: HoldingRule, from: string): Promise<string[]> =>
      (await account.one(decidersOf, { heldRule: JSON.stringify(rule), from }))!.deciders,
    /** The held chunks of an unfinished artifact. Without an artifact id, the chunks that were held last. */
    chunk: (from: string, task: string, artifact: string | null) => account.one(heldChunk, { from, task, artifact }),
  }),
  changes: heldChanges,
}
