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
  /** Store the verdicts: those of guardrails of this account, and those of the account of the recipient. */
  parts: Pick<SendParts, 'counts' | 'verdicts' | 'theirCounts' | 'theirVerdicts'>
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

/**
 * The parts of a send. `message` stores the row if every condition holds; the other parts do something only if that
 * row is there, and change nothing when the unit is repeated.
 */
export interface SendParts {
  /** Fails the whole unit unless the lease that the message acks is open. */
  held?: Statement
  /** Fails the whole unit if the task that the message belongs to has ended. */
  taskOpen?: Statement
  message: Statement
  /** Counts the message for the quotas. It follows `message`. */
  usage?: Statement
  /** Count the turn, in the account of the sender and in that of the recipient. */
  turn?: readonly Statement[]
  theirTurn?: Statement
  /** Counts the message on the trial of its sender. */
  trial?: Statement
  /** Stores what is too large for an inbox. */
  largeParts?: Statement
  /** Count and store the verdicts of guardrails of the account. */
  counts?: Statement
  verdicts?: Statement
  /** The same for the account of the recipient. */
  theirCounts?: Statement
  theirVerdicts?: Statement
  deliveries: Statement
  /** What it changes of the task that it belongs to. */
  task?: readonly Statement[]
  /** Remembers the idempotency key. */
  key?: Statement
  /** Fails the whole unit unless the message is stored. For a unit that does more than storing it. */
  required?: Statement
  /** Ack the messages that this one answers. */
  acked?: Statement
  closed?: Statement
  /** Returns the column `receipt`, the JSON of a `SendReceipt`; no row if the message is not stored. */
  receipt: Statement
}

/** The parts of a send in the order in which they must run. */
export function inOrder(parts: SendParts): SendParts {
  return {
    held: parts.held,
    taskOpen: parts.taskOpen,
    message: parts.message,
    usage: parts.usage,
    turn: parts.turn,
    theirTurn: parts.theirTurn,
    required: parts.required,
    trial: parts.trial,
    largeParts: parts.largeParts,
    counts: parts.counts,
    verdicts: parts.verdicts,
    theirCounts: parts.theirCounts,
    theirVerdicts: parts.theirVerdicts,
    deliveries: parts.deliveries,
    acked: parts.acked,
    closed: parts.closed,
    task: parts.task,
    key: parts.key,
    receipt: parts.receipt,
  }
}

/** The length of the text and inline A2A details of a message, in UTF-16 units. */
export function lengthOf({ body, a2a }: Pick<NewMessage, 'body' | 'a2a'>): number {
  return body.length + (a2a?.length ?? 0)
}
