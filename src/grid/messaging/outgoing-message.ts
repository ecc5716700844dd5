/** The input and the result of a send. */
import type { ReviewedMessage } from '../../store/account/new-message.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { Statement } from '../../store/sql.ts'

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
  acceptedOutputModes?: string[]
  /** Other tasks of the conversation that wait for the sender. */
  waitingTaskIds?: string[]
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
  /** What it does to a task. Without this, a message that answers a task completes it. */
  task?: TaskStep
}

/** A send whose text and details are checked. */
export interface Draft {
  /** Without invisible characters. */
  input: SendInput
  /** Its idempotency key, or null. */
  key: string | null
  /** What a repeat with the same key must match; empty without one. */
  requestHash: string
  /** Invisible characters were removed. */
  sanitized: boolean
}

/** A step of a task, in the unit of the message that causes it. */
export interface TaskStep {
  taskId: string
  /** The message is in the task alone: it does not wait in the inbox of its recipient. */
  isInTaskAlone: boolean
  /** The message that it answers, and its conversation: those of a message that names none. */
  answers?: { messageId: string; conversationId: string }
  /** Fails the unit if the task has ended. */
  open?(messageId: string): Statement
  /** What the stored message changes. */
  statements(message: ReviewedMessage): readonly Statement[]
  /** Called when the unit failed: fails if the step is no longer possible. */
  check?(): Promise<unknown>
}

/** A message that is on disk, and the receipt for its sender. A repeat with the same key gets the same receipt. */
export interface SentMessage extends SendReceipt {
  /** What callers see as `message_id`. */
  id: string
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  /** Who is at the recipient now, in a word, if it is an agent of the same account. See docs/delivery.md, "Presence". */
  recipientPresence?: string
  conversationId: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  /** How many answers led to it. */
  hops: number
  /** The turns of its conversation without input from outside, if the sender is to be told. */
  turns?: number
  /** Invisible characters were removed from the message before it was stored. */
  sanitized?: true
  /** The task that it belongs to. */
  taskId?: string
}
