/** A message to be stored, and the parts of its unit. */
import type { messages } from '../../../db/schema.ts'
import type { HeldFinding, NewHeld } from './new-held.ts'
import { type AccountDb, query, type Statement, traffic } from '../sql.ts'
import { givenDetails, isOfMessage } from './inbox-message.ts'

export type MessageType = typeof messages.$inferSelect.type

/** A message to be stored. `a2a` and `largeParts` are JSON text or null; `at` is milliseconds since the epoch. */
export interface NewMessage {
  id: string
  from: string
  type: MessageType
  /** The recipient as addressed: `@alias` or `#name`. */
  recipient: string
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  flagged: boolean
  sanitized: boolean
  /** The hosts to which people's guardrails sent the text, or null. */
  sharedWith: string | null
  /** The external service from which a program delivered the message. Null for a message written in the grid. */
  via: 'slack' | 'hook' | null
  key: string | null
  /** Keys used until this time may be used again. */
  keysSince: number
  /** The list of `StoredPart`s stored separately from `a2a`. */
  largeParts: string | null
  hops: number
  /** The alias of the agent whose message it replies to; null if there is none, or if a person sent that message. */
  replyFrom: string | null
  /** The conversation's name as given by the client of an A2A message, or null. */
  contextId: string | null
  taskId: string | null
  isInTaskAlone: boolean
  expiresAt: number | null
  /** The span of the send; null without traces. */
  traceparent: string | null
  at: number
}

export interface ReviewedMessage extends NewMessage {
  guarded?: GuardedSend
  /** The message waits for a person's decision and is not delivered. */
  held?: Omit<NewHeld, 'later'>
}

/** Guardrail verdicts on a message, with the changes that they cause. */
export interface GuardedSend {
  deliveries: ChangedDelivery[]
  receipt: GuardedReceipt
  findings: readonly GuardFinding[]
  /** Counts and stores the verdicts, in this account and in the recipient's account. */
  statements: Statement[]
}

/** Redacted or withheld copies of a post for some members of a channel. */
export interface ChangedDelivery {
  agentIds: readonly string[]
  /** The redacted text and A2A details (JSON). `body` null: the message's own. Members without a copy get nothing. */
  copy?: { body: string | null; a2a: string | null; chars: number }
}

/** The objections of a guardrail that did not refuse the message. */
export interface GuardFinding extends HeldFinding {
  guardrailId: string
  /** Whether the guardrail belongs to the sender's account. */
  isOwn: boolean
  holds: boolean
}

export interface GuardedReceipt {
  /** Who may decide on the message, by alias or name, if they are in the sender's account, and until when. */
  held?: { by: readonly string[]; until: number }
  leftOut?: number
  /** The kinds of content redacted for all recipients. */
  redacted?: readonly string[]
}

/** Condition: the agent `:from` has not used the key `:key` after `:keysSince`. */
export const isNewKey = `NOT EXISTS (SELECT 1 FROM idempotency_keys
  WHERE idempotency_keys.account_id = :account AND idempotency_keys.agent_id = :from AND idempotency_keys.key = :key
    AND idempotency_keys.created_at > :keysSince)`

/** Stores the key with the message found by `source`. Replaces a key from before `:keysSince`. */
export function addingKey(source: string): string {
  return `
  INSERT INTO idempotency_keys (account_id, agent_id, key, request_hash, sender_account_id, message_id, created_at)
  SELECT :account, :from, :key, :requestHash, messages.account_id, messages.id, :at FROM ${source}
  ON CONFLICT (account_id, agent_id, key) DO UPDATE SET request_hash = excluded.request_hash,
    sender_account_id = excluded.sender_account_id, message_id = excluded.message_id,
    created_at = excluded.created_at, receipt = NULL
    WHERE created_at <= :keysSince`
}

/** The inbox of an agent of this account, or of the account `home`. */
export interface InboxAddress {
  agentId: string
  home?: string
  /** The agent's unread messages are sent to another server. */
  isRemote?: boolean
}

/** The length of a message's text and inline A2A details, in UTF-16 units. */
export function lengthOf({ body, a2a }: Pick<NewMessage, 'body' | 'a2a'>): number {
  return body.length + (a2a?.length ?? 0)
}

/** A part of a message. `content` is its text, or base64 of its bytes; `bytes` is the decoded length. */
export interface StoredPart {
  id: string
  mediaType: string
  /** `upload`: `content` is the id of an upload. */
  encoding: 'utf8' | 'base64' | 'upload'
  content: string
  bytes: number
}

export interface PartOfMessage {
  part?: StoredPart
  a2a: string | null
}

/** Approximate number of rows of a message with large parts, for the write queue. */
const usualParts = 5

/** Condition: another account's guardrail redacted something in the row `message`. */
export function isRedactedByOthers(message = 'messages'): string {
  return `EXISTS (
  SELECT 1 FROM verdicts WHERE verdicts.sender_account_id = ${message}.account_id AND verdicts.message_id = ${message}.id
    AND verdicts.account_id <> ${message}.account_id AND verdicts.action = 'redacted')`
}

type PartRow = { a2a: string | null } & { [Field in keyof StoredPart]: StoredPart[Field] | null }

const partColumns = 'parts.id, parts.media_type, parts.encoding, parts.content, parts.bytes'
const joinPart = `LEFT JOIN parts ON parts.account_id = messages.account_id AND parts.message_id = messages.id
  AND parts.id = :id`
// A redacted delivery has its own complete details, or none, because the message's parts contain the redacted content.
const received = query<PartRow>(`
  SELECT ${givenDetails()} AS a2a, ${partColumns} FROM deliveries
  JOIN messages ON messages.seq = deliveries.seq
  ${joinPart} AND deliveries.body IS NULL
  WHERE ${isOfMessage('= :message')}
    AND deliveries.state NOT IN ('parked', 'expired')
  LIMIT 1`)
const sent = query<PartRow>(`
  SELECT messages.a2a, ${partColumns} FROM messages
  ${joinPart}
  WHERE messages.account_id = :account AND messages.id = :message AND messages.from_agent_id = :agent
    AND NOT ${isRedactedByOthers()}
  LIMIT 1`)

const add = traffic(`
  INSERT INTO parts (account_id, id, message_id, media_type, encoding, content, bytes)
  SELECT :account, value ->> '$.id', :id, value ->> '$.mediaType', value ->> '$.encoding', value ->> '$.content',
    value ->> '$.bytes'
  FROM json_each(:parts)
  WHERE EXISTS (SELECT 1 FROM messages WHERE messages.account_id = :account AND messages.id = :id)
  ON CONFLICT DO NOTHING`)

function asPart(row: PartRow | undefined): PartOfMessage | undefined {
  if (!row) return undefined
  const { a2a, id, mediaType, encoding, content, bytes } = row
  return id === null
    ? { a2a }
    : { a2a, part: { id, mediaType: mediaType!, encoding: encoding!, content: content!, bytes: bytes! } }
}

export const parts = {
  reads: (account: AccountDb) => ({
    /** A part of a message that was sent to one of the account's agents, possibly from another account. */
    received: async (agent: string, message: string, id: string) =>
      asPart(await account.one(received, { agent, message, id })),
    sent: async (agent: string, message: string, id: string) => asPart(await account.one(sent, { agent, message, id })),
  }),
  changes: (account: AccountDb) => ({
    add: ({ id, largeParts }: NewMessage) => ({
      ...account.bind(add, { id, parts: largeParts ?? '[]' }),
      rows: usualParts,
    }),
  }),
}
