/** The types of a send: its input, recipient, draft, concerns and result. */
import type { AccountStore, UnitRows } from '../../store/account.ts'
import type { InboxAddress, MessageType, NewMessage, ReviewedMessage } from '../../store/account/new-message.ts'
import type { HeldStep } from '../../store/account/new-held.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { Conversation, TurnLimits } from '../../store/account/turns.ts'
import type { Quotas } from '../../store/account/usage.ts'
import type { Statement } from '../../store/sql.ts'

/** In characters. A message contains only the beginning of a longer text. See `asStored`. */
export const maxMessageLength = 10_000
/** The allowed expiry in seconds: up to 7 days. */
export const expirySeconds = { min: 10, max: 604_800 }

export interface Sender {
  agentId: string
  alias: string
  /** The id of the program that forwards a person's text. Guardrails and approval rules apply to the program. */
  program?: string
  /** Set if the sender is known to have no trial. Otherwise its trial is looked up. */
  isUnlimited?: boolean
}

/**
 * The details of a message besides its text, kept for the recipient. Parts are in 1.0 form. The parts of an A2A message
 * are its whole content, including the text. Other messages have only `parts`, which follow their text, `choices`, and
 * `hasLongText`: the first part is the text.
 */
export interface A2aDetails {
  messageId?: string
  contextId?: string
  taskId?: string
  parts?: unknown[]
  metadata?: Record<string, unknown>
  extensions?: string[]
  referenceTaskIds?: string[]
  acceptedOutputModes?: string[]
  waitingTaskIds?: string[]
  /** Answers that a person can choose with one click. */
  choices?: string[]
  hasLongText?: true
  /** The artifact of which the message is a chunk. */
  artifactId?: string
  artifactName?: string
}

export interface LeasePart {
  leaseId: string
  messageIds?: readonly string[]
}

export interface SendInput {
  to: string
  text: string
  replyToMessageId?: string
  conversationId?: string
  /** After this time, readers no longer get the message if it is unread. See `expirySeconds`. */
  expiresInSeconds?: number
  /** A send that is retried with the same key is stored only once. Other content with the same key is refused. */
  idempotencyKey?: string
  /** What a retry with the same key must equal. Default: the content of the send. */
  request?: string
  /** The lease on the messages that this message answers. It is acked in the unit that stores the message. */
  acks?: LeasePart
  /** Parts besides the text. Cannot be combined with `a2a`. */
  parts?: unknown[]
  /** See `cleanChoices`. Cannot be combined with `a2a`. */
  choices?: string[]
  a2a?: A2aDetails
  /** The outside system where the message was written. */
  via?: NewMessage['via']
  /** The number of answers that led to the message, reported by the outside program that forwards it. */
  hops?: number
  /** The ends of preceding texts, the last of which this message continues. Guardrails check them with the message. */
  continues?: readonly string[]
  /** The message's effect on a task. By default, a reply to a message of a task completes the task. */
  task?: TaskStep
  /** The caller's statements in the unit that stores the message. A retry of the send does not run them again. */
  concern?: Concern
}

/** The message that another message replies to. `type` is known only for received messages. */
export interface RepliedTo {
  conversationId: string | null
  fromAlias: string
  type?: MessageType
  hops: number
  taskId?: string | null
  traceparent: string | null
  isExternal: number
}

/** A message as its sender wrote it: without invisible characters, and with its id. */
export interface Draft {
  /** The complete text and details. `message` contains only what fits. */
  text: string
  details?: A2aDetails
  continues?: readonly string[]
  /** The hash that a retry with the same key must match; empty without a key. */
  requestHash: string
  repliedTo?: RepliedTo
  message: Omit<NewMessage, 'taskId' | 'isInTaskAlone'>
}

type Reviewed = 'body' | 'conversationId' | 'a2a' | 'largeParts' | 'flagged' | 'sharedWith' | 'guarded' | 'held'

/** Changes to a draft by guardrails and approval rules. Absent fields stay. */
export type Review = Partial<Pick<ReviewedMessage, Reviewed>>

export interface TaskStep {
  taskId: string
  /** Whether the message is only in the task, and not in its recipient's inbox. */
  isInTaskAlone: boolean
  /** Data to run the step at delivery if the message is held first. Without this, the step runs immediately. */
  later?: HeldStep
  open?(messageId: string): Statement
  statements(message: ReviewedMessage): readonly Statement[]
  /** Called after the unit failed: fails if the step is no longer possible. */
  check?(): Promise<unknown>
}

/** A stored message and the receipt for its sender. A retry with the same key gets the same receipt. */
export interface SentMessage extends SendReceipt {
  id: string
  recipient: string
  /** The presence of the recipient in a word, if it is an agent of the sender's account. */
  recipientPresence?: string
  conversationId: string | null
  createdAt: number
  hops: number
  /** How many turns the conversation has had without outside input, if the sender needs to know. */
  turns?: number
  sanitized?: true
  taskId?: string
}

/** A possible recipient, as read from the store. */
export interface Recipient {
  readonly label: string
  readonly inbox?: InboxAddress
  readonly id: string
  /** Which guardrails or approval rules check the message: bits of `store/account/guarding.ts`, or 0. */
  readonly guards: number
  /** Whether its plain reply over A2A is a message instead of a task. */
  readonly messageReplies?: boolean
  /** Whether it is a remote agent of another account whose token pays for the message. */
  readonly spendsToken?: boolean
  /** Whether it is the alias of a person of the sender's account. */
  readonly isPerson?: boolean
  /** Whether it waits for an answer. Absent for a channel, whose members may wait. */
  readonly isWaiting?: boolean
  /** The approximate number of inboxes that a message to it reaches. */
  readonly inboxes: number
  /** Stores a message, if all conditions still hold at the commit. */
  store(message: ReviewedMessage, quotas: Quotas): Statement
  deliver(message: ReviewedMessage): Statement[]
  /** Like `store`, for a message that is already stored: fails the unit if the recipient does not accept the sender. */
  requireOpen(message: ReviewedMessage, quotas: Quotas): Statement
  /** Returns the column `receipt`, the JSON of a `SendReceipt`; no row if the message is not stored. */
  receipt(message: ReviewedMessage, quotas: Quotas): Statement
}

/** A send with its recipient and its draft. */
export interface OutgoingMessage {
  readonly account: AccountStore
  readonly sender: Sender
  readonly recipient: Recipient
  readonly draft: Draft
}

/** A send that is ready for its unit. */
export interface Send extends OutgoingMessage {
  readonly input: SendInput
  readonly message: ReviewedMessage
  /** The effect of the message on a task. */
  readonly step?: TaskStep
  /** The turns that were read with the recipient. */
  readonly turns?: Promise<ReadTurns>
}

/** The turn counts of a message's conversations before the message itself is counted. */
export interface ReadTurns {
  readonly conversations: readonly Conversation[]
  /** Absent if they were not read. */
  readonly limits?: TurnLimits
}

type Given<T> = T | undefined | Promise<T | undefined>

/** One concern of a send: its part of the unit, and its reasons to refuse a message. */
export interface Concern {
  /**
   * Reviews a draft before its unit: fails, or adds to the changes in `before`. It may use the network.
   */
  review?(outgoing: OutgoingMessage, before: Review): Given<Review>
  /** Undefined if the concern has nothing to do with this send. */
  plan(send: Send): Given<SendPart>
}

type StoredNote = Partial<SentMessage> | undefined | void

/** A concern's part of the message's unit. */
export interface SendPart {
  /** Conditions. If one does not hold, the unit fails. */
  readonly preconditions?: readonly Statement[]
  /** Statements that run after those of earlier concerns. They are safe to run again. */
  readonly statements?: readonly Statement[]
  /** Whether the statements have effects of their own, so that the unit must fail if the message is not stored. */
  readonly needsMessage?: boolean
  /** Called if nothing was stored. Fails if a condition of this part was the cause. */
  explain?(): Promise<unknown>
  /** Called after the commit, with the rows of `statements`. Returns additions to the receipt. */
  stored?(rows: UnitRows): StoredNote | Promise<StoredNote>
}
