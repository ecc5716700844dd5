/** Sending a message to an agent or a channel: resolve → compose → review → commit. */
import type { Actor } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { characterCount, hasAtMost, wellFormed } from '../../lib/text.ts'
import { type AccountStore, writeParts } from '../../store/account.ts'
import { inOrder, type MessageType, type NewMessage, type ReviewedMessage } from '../../store/account/new-message.ts'
import type { SendReceipt } from '../../store/account/receipts.ts'
import { answeredTask } from './answered-task.ts'
import { checkKey, findRepeat, keyLifetimeMs, requestHashOf } from './idempotency.ts'
import {
  type LeasePart,
  maxMessageLength,
  type Sender,
  type SendInput,
  type SentMessage,
  type TaskStep,
} from './outgoing-message.ts'
import { splitDetails } from './parts.ts'
import { countMessage, quotasOf, refuseBeyondQuotas } from './quota.ts'
import { type Recipient, resolve } from './resolve.ts'
import { reviewChecks } from './review.ts'
import type { OutgoingMessage, ReviewCheck } from './review-check.ts'
import { presenceAt, withPresence } from './sent-message.ts'
import { ackAgain, ackParts, leaseChanged, requireHeld } from './timed-leases.ts'
import { countTurn, hopsOf, refuseTurn, turnOf, turnsTold } from './turns.ts'

/**
 * What a message says about who wrote it. It follows from the caller and not from the sending agent: a key or an OAuth
 * client is a program, also that of an agent of type `human`.
 */
const messageTypes: Record<Actor['type'], MessageType> = {
  agent: 'agent',
  admin: 'agent',
  user: 'human',
  system: 'system',
}

/** How often a commit is tried whose conditions changed between reading and writing. */
const maxAttempts = 3

/**
 * Put a message from `sender`, an agent of the account, into the inbox of another agent, or of every other member of
 * a channel. When this returns, the message is on disk. A repeat under the same idempotency key stores nothing and
 * returns the result of the first send.
 *
 * With `acks` the messages that it answers are acked in the same unit: both is done, or nothing.
 *
 * Fails with `stale_lease` (of `acks`), `invalid_input`, `message_too_long`, `recipient_not_found`, `channel_not_found`, `not_channel_member`,
 * `message_not_found` (the message that this one replies to), `idempotency_conflict`, `trial_expired`, `unavailable`,
 * `storage_full`, `quota_exceeded`, `guardrail_blocked`, `guardrail_unavailable`, `conversation_paused`, or as one of
 * `checks` does. They replace those of the grid.
 *
 * See docs/protocol.md, "Grid message", and docs/delivery.md, "Sending".
 */
export async function sendMessage(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  checks?: readonly ReviewCheck[],
): Promise<SentMessage> {
  // First of all, so that the hash of a repeat, the checks and the recipient have the same text.
  const { text, isCleaned } = checkText(input.text)
  const cleaned = { ...input, text, a2a: input.a2a && withoutInvisibleIn(input.a2a) }
  const key = input.idempotencyKey === undefined ? null : checkKey(input.idempotencyKey)
  const requestHash = key === null ? '' : requestHashOf(cleaned)
  const repeatOf = async () => {
    const repeat = key === null ? undefined : await findRepeat(account, sender, key, requestHash)
    return repeat && await withPresence(account, repeat)
  }

  const { acks } = input
  const repeat = await repeatOf()
  if (repeat) {
    if (acks) await ackAgain(account, acks)
    return repeat
  }
  account.requireSpace()
  if (acks) await requireHeld(account, acks)
  let recipient = await resolve(account, sender, input.to)
  const sanitized = isCleaned || cleaned.a2a !== input.a2a
  const { composed, repliedToTask } = await compose(account, sender, cleaned, recipient.label, sanitized)
  const answering = { repliedToTask, conversationId: composed.conversationId }
  const stepOf = () => {
    if (input.task || (repliedToTask === null && recipient.openTask === undefined)) return input.task
    return answeredTask(account, sender, recipient, answering)
  }
  let step = await stepOf()
  const outgoing = { account, sender, message: composed, input: cleaned, requestHash }
  // Before the attempts: a repeated commit does not run the checks again.
  let message: ReviewedMessage = composed
  if (checks || recipient.guards > 0) {
    await refuseBeyondQuotas(account, recipient)
    message = await reviewed({ ...outgoing, recipient }, checks)
  }

  for (let attempt = 1;; attempt++) {
    const sent = await commit(account, sender, inTask(message, step), recipient, { requestHash, acks, step })
    if (sent) return sent
    // A condition of the commit did not hold. Reading again finds which one. If all of them hold now, we try again.
    const stored = await repeatOf()
    if (stored) return stored
    if (acks) await requireHeld(account, acks)
    const before = recipient
    recipient = await resolve(account, sender, input.to)
    // The checks were for another recipient, or for other guardrails.
    if (recipient.id !== before.id || recipient.guards !== before.guards) {
      message = await reviewed({ ...outgoing, recipient }, checks)
    }
    await refuseEndedTrial(account, sender)
    await refuseBeyondQuotas(account, recipient)
    await refuseTurn(account, sender, recipient, turnOf(sender, recipient, inTask(message, step)))
    await step?.check?.()
    step = await stepOf()
    if (attempt === maxAttempts) {
      throw new GridError('unavailable', 'The grid changed while this message was sent. Send it again.', {
        retryAfterSeconds: 1,
      })
    }
  }
}

/**
 * The message of a send, ready to be reviewed and committed; its text is checked already.
 * Fails with `invalid_input` or `message_not_found`.
 */
async function compose(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
  recipient: string,
  sanitized: boolean,
): Promise<{ composed: NewMessage; repliedToTask: string | null }> {
  const conversationId = checkConversation(input.conversationId)
  const repliedTo = await messageRepliedTo(account, sender, input.replyToMessageId)
  const type = messageTypes[account.actor.type]
  const at = account.deps.now()
  const id = newId()
  const details = input.a2a && splitDetails(id, { ...input.a2a })
  const composed = {
    id,
    from: sender.agentId,
    type,
    recipient,
    body: input.text,
    replyToMessageId: input.replyToMessageId ?? null,
    conversationId: conversationId ?? repliedTo?.conversationId ?? null,
    a2a: details ? JSON.stringify(details.inline) : null,
    flagged: false,
    sanitized,
    key: input.idempotencyKey ?? null,
    keysSince: at - keyLifetimeMs,
    largeParts: details?.apart.length ? JSON.stringify(details.apart) : null,
    hops: type === 'agent' ? hopsOf(sender, repliedTo, input.a2a) : 0,
    replyFrom: repliedTo?.type === 'agent' ? repliedTo.fromAlias : null,
    contextId: input.a2a?.contextId ?? null,
    taskId: null,
    isInTaskAlone: false,
    at,
  }
  return { composed, repliedToTask: repliedTo?.taskId ?? null }
}

/** A message with what a step of a task makes of it. */
function inTask<Message extends NewMessage>(message: Message, step: TaskStep | undefined): Message {
  if (!step) return message
  const { taskId, isInTaskAlone, answers } = step
  return {
    ...message,
    taskId,
    isInTaskAlone,
    conversationId: message.conversationId ?? answers?.conversationId ?? null,
    replyToMessageId: message.replyToMessageId ?? answers?.messageId ?? null,
  }
}

/** The message as the checks leave it. Fails as they do. */
async function reviewed(
  outgoing: OutgoingMessage,
  checks: readonly ReviewCheck[] = outgoing.recipient.guards > 0 ? reviewChecks : [],
): Promise<ReviewedMessage> {
  let { message } = outgoing
  for (const review of checks) message = await review({ ...outgoing, message })
  return message
}

/** Well-formed text of 1 to 10,000 characters, without invisible ones. `isCleaned`: it had some. */
function checkText(text: string): { text: string; isCleaned: boolean } {
  const given = wellFormed(text)
  if (given === undefined) throw new GridError('invalid_input', 'The message contains U+0000. Remove it.')
  if (given === '') throw new GridError('invalid_input', 'The message is empty.')
  const checked = withoutInvisible(given)
  if (checked === '') throw new GridError('invalid_input', 'The message has only invisible characters. Write text.')
  if (!hasAtMost(checked, maxMessageLength)) {
    throw new GridError(
      'message_too_long',
      `The message has ${characterCount(checked)} characters, at most ${maxMessageLength} are allowed. Split it.`,
    )
  }
  return { text: checked, isCleaned: checked !== given }
}

function checkConversation(id: string | undefined): string | undefined {
  if (id !== undefined && wellFormed(id) !== id) {
    throw new GridError('invalid_input', 'The id of the conversation is not well-formed text.')
  }
  return id
}

async function messageRepliedTo(
  account: AccountStore,
  sender: Sender,
  repliedTo: string | undefined,
): Promise<
  | { conversationId: string | null; fromAlias: string; type?: MessageType; hops: number; taskId?: string | null }
  | undefined
> {
  if (repliedTo === undefined) return undefined
  const message = await account.read.inbox.received(sender.agentId, repliedTo) ??
    await account.read.messages.sent(repliedTo, sender.agentId)
  if (!message) {
    throw new GridError('message_not_found', 'reply_to_message_id names no message that you received or sent.')
  }
  return message
}

/**
 * Store a message and wake its recipients. Undefined when a condition no longer held: then nothing is stored, and no
 * row of the activity log if the send is recorded, and nothing is acked. `requestHash` is stored with the idempotency key
 * of the message, if it has one.
 */
async function commit(
  account: AccountStore,
  sender: Sender,
  message: ReviewedMessage,
  recipient: Recipient,
  { requestHash, acks, step }: { requestHash: string; acks?: LeasePart; step?: TaskStep },
): Promise<SentMessage | undefined> {
  const { messages, parts } = account.change
  // Neither a row of the log nor an ack nor a change of a task comes without its message.
  const isAllOrNothing = account.isRecording || acks !== undefined || step !== undefined
  const turn = turnOf(sender, recipient, message)
  const rows = await writeParts(
    account,
    inOrder({
      ...recipient.parts(message, { ...quotasOf(account, recipient.inbox), ...turn }),
      usage: countMessage(account, recipient, message, recipient.inboxes),
      ...countTurn(account, sender, recipient, message, turn),
      taskOpen: step?.open?.(message.id),
      task: step?.statements(message),
      trial: sender.isUnlimited ? undefined : messages.countTrial(message),
      largeParts: message.largeParts === null ? undefined : parts.add(message),
      ...message.guarded?.parts,
      key: message.key === null ? undefined : messages.addKey(message, requestHash),
      required: isAllOrNothing ? messages.requireStored(message) : undefined,
      ...acks && ackParts(account, message, acks),
    }),
  ).catch((error) => {
    // It stores nothing at all, because a condition did not hold.
    if (!isAllOrNothing || !(error instanceof GridError) || error.code !== 'write_conflict') throw error
  })
  if (!rows) return undefined
  const [row] = rows.receipt
  if (!row) return undefined
  const reached = recipient.reached(rows)
  const { notifier } = account.waiting
  if (!message.isInTaskAlone) notifier.notify(reached)
  if (step) notifier.wake([step.taskId])
  const receipt: SendReceipt = JSON.parse(String(row.receipt))
  if (acks) await leaseChanged(account)
  const { id, conversationId, hops, at, sanitized } = message
  const turns = turnsTold(rows.turn)
  return {
    id,
    recipient: recipient.label,
    ...presenceAt(account, recipient.inbox?.agentId, receipt),
    conversationId,
    createdAt: at,
    hops,
    ...(sanitized && { sanitized }),
    ...(turns !== undefined && { turns }),
    ...(step && { taskId: step.taskId }),
    ...receipt,
  }
}

async function refuseEndedTrial(account: AccountStore, sender: Sender): Promise<void> {
  const trial = await account.read.agents.trial(sender.agentId)
  if (!trial) return
  const at = account.deps.now()
  const hasExpired = trial.expiresAt <= at
  if (trial.used < trial.max && !hasExpired && trial.endedAt === null) return
  if (hasExpired && trial.endedAt === null) account.writeLater([account.change.agents.endTrials(at, at)])
  throw new GridError(
    'trial_expired',
    `The trial of this agent has ended (${trial.used} of ${trial.max} messages sent). Its owner can claim the agent with the link from the signup.`,
  )
}
