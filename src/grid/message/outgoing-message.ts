/** What a send is made of: its input, its recipient, its draft, its concerns and its result. */
import type { AccountStore, UnitRows } from '../../store/account.ts'
import type { InboxAddress, MessageType, NewMessage, ReviewedMessage } from '../../store/account/new-message.ts'
import type { HeldStep } from '../../store/account/new-held.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import type { Conversation, TurnLimits } from '../../store/account/turns.ts'
import type { Quotas } from '../../store/account/usage.ts'
import type { Statement } from '../../store/sql.ts'

/** In characters. Of a longer text, the message has the beginning. See `asStored`. */
export const maxMessageLength = 10_000
/** After how many seconds a message may expire: up to 7 days. */
export const expirySeconds = { min: 10, max: 604_800 }

export interface Sender {
  agentId: string
  alias: string
  /** The id of the program that brings what a person wrote elsewhere. Guardrails and approval rules look at the program. */
  program?: string
  /** The sender is known to have no trial. Without this, its trial is looked up. */
  isUnlimited?: boolean
}

/**
 * What belongs to a message beyond its text; kept for the recipient. Parts are in 1.0 form. Of a message over A2A they are
 * all of its content, with the text. Other messages have nothing but `parts`, which come after their text, `choices`, and
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
  /** What a person may answer with one click. */
  choices?: string[]
  hasLongText?: true
  /** Of the artifact that the message is a chunk of. */
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
  /** See `expirySeconds`. What is unread then is not given to a reader any more. */
  expiresInSeconds?: number
  /** Repeating a send with the same key stores it once. Other content with the same key is refused. */
  idempotencyKey?: string
  /** The request that a repeat with the same key must equal. Default: the content of the send. */
  request?: string
  /** What the message answers: acked in the unit that stores it. */
  acks?: LeasePart
  /** Besides the text. Not together with `a2a`. */
  parts?: unknown[]
  /** Not together with `a2a`. See `cleanChoices`. */
  choices?: string[]
  a2a?: A2aDetails
  /** Where it was written, if not in the grid. */
  via?: NewMessage['via']
  /** How many answers led to it, as the program outside says that brings it. */
  hops?: number
  /** The ends of texts, of which the last goes on with this message. Guardrails check them together with it. */
  continues?: readonly string[]
  /** What it does to a task. Without this, a reply to a message of a task completes it. */
  task?: TaskStep
  /** What its caller does in the unit that stores it. It is not done again with a repeat. */
  concern?: Concern
}

/** The message that a message replies to. `type` is known of a message that was received. */
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
  /** The whole text and details, of which `message` has what fits. */
  text: string
  details?: A2aDetails
  continues?: readonly string[]
  /** What a repeat with the same key must match; empty without one. */
  requestHash: string
  repliedTo?: RepliedTo
  message: Omit<NewMessage, 'taskId' | 'isInTaskAlone'>
}

type Reviewed = 'body' | 'conversationId' | 'a2a' | 'largeParts' | 'flagged' | 'sharedWith' | 'guarded' | 'held'

/** What guardrails and approval rules change in a draft. What is absent stays. */
export type Review = Partial<Pick<ReviewedMessage, Reviewed>>

export interface TaskStep {
  taskId: string
  /** The message is in the task alone: it does not wait in the inbox of its recipient. */
  isInTaskAlone: boolean
  /** What it takes to do this when the message is delivered, if it is held first. Without it, it is done at once. */
  later?: HeldStep
  open?(messageId: string): Statement
  statements(message: ReviewedMessage): readonly Statement[]
  /** Called when the unit failed: fails if the step is no longer possible. */
  check?(): Promise<unknown>
}

/** A message that is on disk, and the receipt for its sender. A repeat with the same key gets the same receipt. */
export interface SentMessage extends SendReceipt {
  id: string
  recipient: string
  /** Who is at the recipient now, in a word, if it is an agent of the same account. */
  recipientPresence?: string
  conversationId: string | null
  createdAt: number
  hops: number
  /** The turns of its conversation without input from outside, if the sender is to be told. */
  turns?: number
  sanitized?: true
  taskId?: string
}

/** A place that a message can go to, as it was found by reading the store. */
export interface Recipient {
  readonly label: string
  readonly inbox?: InboxAddress
  readonly id: string
  /** Whether guardrails or approval rules look at the message: a sum of the bits of `store/account/guarding.ts`, or 0. */
  readonly guards: number
  /** Whether its plain reply over A2A is a message, and not a task. */
  readonly messageReplies?: boolean
  /** Whether it is a remote agent of another account, and gets messages with a token of that account. */
  readonly spendsToken?: boolean
  /** Whether it is the alias of a person of the sender's account. */
  readonly isPerson?: boolean
  /** Whether it waits for an answer. Absent for a channel, of which some member may. */
  readonly isWaiting?: boolean
  /** About how many inboxes a message to it reaches. */
  readonly inboxes: number
  /** Stores a message, if every condition that was read still holds at the commit. */
  store(message: ReviewedMessage, quotas: Quotas): Statement
  deliver(message: ReviewedMessage): Statement[]
  /** Fails the unit if it takes no message of the sender, as `store` would, for a message that is stored already. */
  requireOpen(message: ReviewedMessage, quotas: Quotas): Statement
  /** Returns the column `receipt`, the JSON of a `SendReceipt`; no row if the message is not stored. */
  receipt(message: ReviewedMessage, quotas: Quotas): Statement
}

/** A send whose recipient is found and whose draft is made. */
export interface OutgoingMessage {
  readonly account: AccountStore
  readonly sender: Sender
  readonly recipient: Recipient
  readonly draft: Draft
}

/** A send whose message is ready for its unit. */
export interface Send extends OutgoingMessage {
  readonly input: SendInput
  readonly message: ReviewedMessage
  /** What the message does to a task. */
  readonly step?: TaskStep
  /** The turns that were read with the recipient. */
  readonly turns?: Promise<ReadTurns>
}

/** What is known of the conversations of a message before it is counted. */
export interface ReadTurns {
  readonly conversations: readonly Conversation[]
  /** Absent if they were not read. */
  readonly limits?: TurnLimits
}

type Given<T> = T | undefined | Promise<T | undefined>

/** One thing that a send is about: what it adds to the unit, and why it refuses a message. */
export interface Concern {
  /** Looks at a draft before its unit. Fails, or changes what `before` says. It may take long: it may use the network. */
  review?(outgoing: OutgoingMessage, before: Review): Given<Review>
  /** Undefined if the concern has nothing to do with this send. */
  plan(send: Send): Given<SendPart>
}

type StoredNote = Partial<SentMessage> | undefined | void

/** What a concern adds to the unit of a message. */
export interface SendPart {
  /** They fail the whole unit unless they hold. */
  readonly preconditions?: readonly Statement[]
  /** They run behind those of earlier concerns. Each can be repeated. */
  readonly statements?: readonly Statement[]
  /** The statements do something also without the message, so the unit must fail if the message is not stored. */
  readonly needsMessage?: boolean
  /** Called if nothing was stored. Fails if it was because of a condition of this part. */
  explain?(): Promise<unknown>
  /** Called after the commit, with the rows of `statements`. Returns what the sender is told. */
  stored?(rows: UnitRows): StoredNote | Promise<StoredNote>
}
