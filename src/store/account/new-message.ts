/** A message about to be stored, and the parts of the unit that stores it. */
import type { messages } from '../../../db/schema.ts'
import type { Statement } from '../sql.ts'

export type MessageType = typeof messages.$inferSelect.type

/** A message about to be stored. `a2a` and `largeParts` are JSON text or null; `at` is milliseconds since the epoch. */
export interface NewMessage {
  id: string
  /** The id of the sending agent. */
  from: string
  type: MessageType
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  body: string
  replyToMessageId: string | null
  conversationId: string | null
  a2a: string | null
  flagged: boolean
  /** Invisible characters were removed from it. */
  sanitized: boolean
  /** The idempotency key of the send, or null. */
  key: string | null
  /** Keys that were used at this time or before are free again. */
  keysSince: number
  /** The list of `StoredPart` that is stored apart from `a2a`. */
  largeParts: string | null
  /** How many answers led to it. */
  hops: number
  /** The alias of the agent that sent the message that it replies to; null if there is none, or if a person sent it. */
  replyFrom: string | null
  /** What the client of an A2A message calls its conversation, or null. */
  contextId: string | null
  /** The task that it belongs to, or null. */
  taskId: string | null
  /** It is in its task alone: it does not wait in the inbox. */
  isInTaskAlone: boolean
  at: number
}

/** A message that was reviewed. */
export interface ReviewedMessage extends NewMessage {
  /** Undefined if no guardrail objected to anything. */
  guarded?: GuardedSend
}

/** What guardrails decided about a message, beside what they changed in the message itself. */
export interface GuardedSend {
  /** The deliveries of a post that differ from it. */
  deliveries: ChangedDelivery[]
  /** What its sender is told in the receipt. */
  receipt: GuardedReceipt
  /** Count and store the verdicts: those of guardrails of this account, and those of the account of the recipient. */
  statements: Statement[]
}

/** A delivery of a post that a guardrail of its recipient changed. */
export interface ChangedDelivery {
  agentId: string
  /** There is none: the guardrail blocked the post. */
  isLeftOut: boolean
  /** The redacted text, and the A2A details as JSON; null for those of the message. */
  body: string | null
  a2a: string | null
  flagged: boolean
  /** The length of the text and inline A2A details, in UTF-16 units. */
  chars: number
}

/** A field is missing where it does not apply. */
export interface GuardedReceipt {
  /** How many members a post does not reach. */
  leftOut?: number
  /** What kinds of things were masked for all recipients. */
  redacted?: readonly string[]
}

/** The inbox of an agent of this account, or of the account `home`. */
export interface InboxAddress {
  agentId: string
  /** The account of the agent; undefined for this account. */
  home?: string
}

/** The length of the text and inline A2A details of a message, in UTF-16 units. */
export function lengthOf({ body, a2a }: Pick<NewMessage, 'body' | 'a2a'>): number {
  return body.length + (a2a?.length ?? 0)
}
