/** The input and the result of a send. */
import type { SendReceipt } from '../../store/account/receipts.ts'

/** Longest text of a message, in characters. */
export const maxMessageLength = 10_000

/** The agent of the account that a message comes from. */
export interface Sender {
  agentId: string
  /** Without `@`. */
  alias: string
  /** The sender is known to have no trial. Without this, its trial is looked up. */
  isUnlimited?: boolean
}

/** What A2A knows of a message beyond its text; kept for the recipient. Parts are in 1.0 form. */
export interface A2aDetails {
  messageId: string
  contextId?: string
  taskId?: string
  parts?: unknown[]
  metadata?: Record<string, unknown>
  extensions?: string[]
  referenceTaskIds?: string[]
}

/** A lease of the sender, or some of its messages. */
export interface LeasePart {
  leaseId: string
  messageIds?: readonly string[]
}

export interface SendInput {
  /** `@alias`, with or without `@`, or `#channel`. */
  to: string
  text: string
  replyToMessageId?: string
  conversationId?: string
  /** Repeating a send with the same key stores it once. Other content with the same key is refused. */
  idempotencyKey?: string
  /** The request that a repeat with the same key must equal. Default: the content of the send. */
  request?: string
  /** What the message answers: acked in the unit that stores it. */
  acks?: LeasePart
  a2a?: A2aDetails
}

/** A message that is on disk, and the receipt for its sender. A repeat with the same key gets the same receipt. */
export interface SentMessage extends SendReceipt {
  /** What callers see as `message_id`. */
  id: string
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  conversationId: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  /** How many answers led to it. */
  hops: number
  /** The turns of its conversation without input from outside, if the sender is to be told. */
  turns?: number
  /** Invisible characters were removed from the message before it was stored. */
  sanitized?: true
}
