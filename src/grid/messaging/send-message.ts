/** Sending a message to an agent or a channel: resolve → compose → review → commit. */
import { Buffer } from 'node:buffer'
import type { Actor } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { maxTextBytes, wellFormed } from '../../lib/text.ts'
import { second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { MessageType, NewMessage, ReviewedMessage } from '../../store/account/new-message.ts'
import type { SendReceipt } from '../../store/account/messages.ts'
import { heldPart, withHold } from '../approvals/hold.ts'
import { answeredTask, taskPart } from './answered-task.ts'
import { checkGuardrails } from './check-guardrails.ts'
import { cleanChoices, requirePerson } from './choices.ts'
import { withCleanNames } from './given-parts.ts'
import { asStored } from './long-text.ts'
import {
  type A2aDetails,
  type Draft,
  type LeasePart,
  type OutgoingMessage,
  type Recipient,
  type Sender,
  type SendInput,
  type SendPart,
  type SentMessage,
  type TaskStep,
} from './outgoing-message.ts'
import { splitDetails } from './parts.ts'
import { quotaPart, quotasOf, refuseBeyondQuotas, spentTokenPart, trialPart } from './quota.ts'
import { answerPart, labelOf, resolve } from './resolve.ts'
import { findRepeat, keyLifetimeMs, keyOf, presenceAt, requestOf, withPresence } from './sent-message.ts'
import { ackAgain, acksPart, requireHeld } from './timed-leases.ts'
import { hopsOf, readTurns, turnPart } from './turns.ts'
import { uploadsPart, withUploads } from './uploads.ts'

/** What a message says about who wrote it: the caller, not the sending agent. A key or an OAuth client is a program. */
const messageTypes: Record<Actor['type'], MessageType> = {
  agent: 'agent',
  admin: 'agent',
  user: 'human',
  system: 'system',
}

/** How often a commit is tried whose conditions changed between reading and writing. */
const maxAttempts = 3

/**
 * Put a message from `sender`, an agent of the account, into the inbox of another agent, or of every other member of a
 * channel. When this returns, the message is on disk, and what it `acks` is acked in the same unit. A repeat under the
 * same idempotency key stores nothing and returns the first result. See docs/delivery.md, "Sending".
 *
 * Fails with `lease_not_found`, `stale_lease`, `invalid_input`, `message_too_long`, `recipient_not_found`, `channel_not_found`,
 * `not_channel_member`, `message_not_found` (the one it replies to), `part_not_found`, `idempotency_conflict`, `trial_expired`,
 * `unavailable`, `storage_full`, `quota_exceeded`, `guardrail_blocked`, `guardrail_unavailable` or
 * `conversation_paused`.
 */
export async function sendMessage(
  account: AccountStore,
  sender: Sender,
  input: SendInput,
): Promise<SentMessage> {
  let draft = draftOf(input)
  // What is read begins together, so that a remote database is asked once. It is awaited in the order of the refusals.
  const reading = together({
    repeat: findRepeat(account, sender, draft),
    acks: input.acks && requireHeld(account, input.acks),
    recipient: resolve(account, sender, input.to),
    repliedTo: messageRepliedTo(account, sender, input.replyToMessageId),
    // The conversation of a reply is that of the message, unless it is named.
    turns: account.actor.type === 'agent' && input.replyToMessageId === undefined
      ? readTurns(account, sender, labelOf(input.to), input.a2a?.contextId ?? input.conversationId)
      : undefined,
  })
  const repeat = await reading.repeat
  if (repeat) return await repeated(account, repeat.sent, input.acks)
  account.requireSpace()
  await reading.acks

  let recipient = await reading.recipient
  const a2a = await withUploads(account, sender, draft.input.a2a)
  if (a2a !== draft.input.a2a) draft = { ...draft, input: { ...draft.input, a2a } }
  const repliedTo = await reading.repliedTo
  const composed = compose(account, sender, draft, recipient.label, repliedTo)
  let reviewed = await review({ account, sender, recipient, message: composed, draft })
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const step = input.task ?? await answeredTask(account, sender, recipient, repliedTo)
    const message = inTask(reviewed, step)
    const parts: SendPart[] = [
      quotaPart(account, recipient, message),
      ...message.held ? [] : [{ statements: recipient.deliver(message) }, answerPart(account, recipient, message)],
      await turnPart(account, sender, recipient, message, attempt === 1 ? reading.turns : undefined),
      trialPart(account, sender, message),
      ...recipient.spendsToken ? [spentTokenPart(account, recipient, message)] : [],
      ...message.largeParts === null ? [] : [{ statements: [account.change.parts.add(message)] }],
      uploadsPart(account, sender, message, a2a),
      ...message.guarded ? [{ statements: message.guarded.statements }] : [],
      ...input.acks ? [acksPart(account, message, input.acks)] : [],
      ...step ? [taskPart(step, message)] : [],
      ...message.held ? [heldPart(account, message, message.held, step)] : [],
      ...message.key === null ? [] : [{ statements: [account.change.messages.addKey(message, draft.requestHash)] }],
      ...input.part ? [input.part(message)] : [],
    ]
    const sent = await commit(account, recipient, message, parts)
    if (sent) return sent

    // A condition of the unit did not hold. Reading again finds which one. If all of them hold now, it is tried again.
    const stored = await findRepeat(account, sender, draft)
    if (stored) return await repeated(account, stored.sent)
    const before = recipient
    recipient = await resolve(account, sender, input.to)
    for (const part of parts) await part.refuse?.()
    // The checks were for another recipient, or for other guardrails.
    if (recipient.id !== before.id || recipient.guards !== before.guards) {
      reviewed = await review({ account, sender, recipient, message: composed, draft })
    }
  }
  throw new GridError('unavailable', 'The grid changed while this message was sent. Send it again.', {
    retryAfterSeconds: 1,
  })
}

/** The same promises. One that fails is no unhandled rejection, also if an earlier one fails before it is awaited. */
function together<Reads extends Record<string, Promise<unknown> | undefined>>(reads: Reads): Reads {
  for (const read of Object.values(reads)) read?.catch(() => {})
  return reads
}

/** A send that was made already under its key. What it acks is acked now, unless that was done with it. */
async function repeated(account: AccountStore, sent: SentMessage, acks?: LeasePart): Promise<SentMessage> {
  if (acks) await ackAgain(account, acks)
  return await withPresence(account, sent)
}

/** What is sent, as it is checked, hashed and stored: without invisible characters. */
function draftOf(input: SendInput): Draft {
  const { conversationId } = input
  if (conversationId !== undefined && withoutInvisible(wellFormed(conversationId) ?? '') !== conversationId) {
    throw new GridError('invalid_input', 'The conversation id has characters that are not visible, or no Unicode.')
  }
  const { text, isCleaned } = checkText(input.text, input.a2a ? Infinity : maxTextBytes)
  const given = input.a2a ?? givenDetails(input)
  const a2a = given && cleanedDetails(given)
  const cleaned = { ...input, text, a2a }
  return {
    input: cleaned,
    ...keyOf(input.idempotencyKey, () => requestOf(cleaned)),
    sanitized: isCleaned || a2a !== given,
  }
}

function givenDetails({ parts = [], choices = [] }: SendInput): A2aDetails | undefined {
  if (parts.length + choices.length === 0) return undefined
  // The index of messages with choices needs them first.
  return { ...(choices.length > 0 && { choices }), ...(parts.length > 0 && { parts }) }
}

/** The same if nothing changed. */
function cleanedDetails(given: A2aDetails): A2aDetails {
  const details = withoutInvisibleIn(given)
  const parts = details.parts && withCleanNames(details.parts)
  const choices = details.choices && cleanChoices(details.choices)
  return parts === details.parts && choices === details.choices ? details : { ...details, parts, choices }
}

/** The message of a send, ready to be reviewed and committed. */
function compose(
  account: AccountStore,
  sender: Sender,
  { input, key, sanitized }: Draft,
  recipient: string,
  repliedTo: RepliedTo | undefined,
): NewMessage {
  const { conversationId } = input
  const { actor, trace: { spans } } = account
  if (repliedTo) spans?.follow(repliedTo)
  const type = messageTypes[actor.type]
  const at = account.deps.now()
  const id = newId()
  const { body, details } = asStored(input.text, input.a2a)
  const split = details && splitDetails(id, { ...details })
  return {
    id,
    from: sender.agentId,
    type,
    recipient,
    body,
    replyToMessageId: input.replyToMessageId ?? null,
    conversationId: conversationId ?? repliedTo?.conversationId ?? null,
    a2a: split ? JSON.stringify(split.inline) : null,
    flagged: false,
    sanitized,
    sharedWith: null,
    via: input.via ?? null,
    key,
    keysSince: at - keyLifetimeMs,
    largeParts: split?.apart.length ? JSON.stringify(split.apart) : null,
    hops: type === 'agent' && sender.program === undefined ? hopsOf(sender, repliedTo, input.a2a) : 0,
    replyFrom: repliedTo?.type === 'agent' ? repliedTo.fromAlias : null,
    contextId: input.a2a?.contextId ?? null,
    taskId: null,
    isInTaskAlone: false,
    expiresAt: input.expiresInSeconds === undefined ? null : at + input.expiresInSeconds * second,
    traceparent: spans?.traceparent ?? null,
    at,
  }
}

function inTask<Message extends NewMessage>(message: Message, step: TaskStep | undefined): Message {
  return step ? { ...message, taskId: step.taskId, isInTaskAlone: step.isInTaskAlone } : message
}

/**
 * The message as its guardrails leave it, and whether a person has to decide on it. Guardrails may ask other services, so
 * quotas are checked first.
 */
async function review(outgoing: OutgoingMessage): Promise<ReviewedMessage> {
  if (outgoing.draft.input.a2a?.choices) requirePerson(outgoing.recipient)
  if (outgoing.recipient.guards === 0) return outgoing.message
  await refuseBeyondQuotas(outgoing.account, outgoing.recipient)
  return await withHold({ ...outgoing, message: await checkGuardrails(outgoing) })
}

/** Well-formed text without invisible characters, and not empty. `isCleaned`: it had some. */
export function checkText(text: string, maxBytes = maxTextBytes): { text: string; isCleaned: boolean } {
  const given = wellFormed(text)
  if (given === undefined) throw new GridError('invalid_input', 'The message contains U+0000. Remove it.')
  if (given === '') throw new GridError('invalid_input', 'The message is empty.')
  const checked = withoutInvisible(given)
  if (checked === '') throw new GridError('invalid_input', 'The message has only invisible characters. Write text.')
  const bytes = Buffer.byteLength(checked)
  if (bytes > maxBytes) {
    const problem = `The message has ${bytes} bytes, at most ${maxBytes} are allowed.`
    throw new GridError('message_too_long', `${problem} Split it, or upload it as a file.`)
  }
  return { text: checked, isCleaned: checked !== given }
}

/** The message that a message replies to. `type` is known of a message that was received. */
interface RepliedTo {
  conversationId: string | null
  fromAlias: string
  type?: MessageType
  hops: number
  taskId?: string | null
  traceparent: string | null
  isExternal: number
}

async function messageRepliedTo(
  account: AccountStore,
  sender: Sender,
  repliedTo: string | undefined,
): Promise<RepliedTo | undefined> {
  if (repliedTo === undefined) return undefined
  const message = await account.read.inbox.received(sender.agentId, repliedTo) ??
    await account.read.messages.sent(repliedTo, sender.agentId)
  if (!message) {
    throw new GridError('message_not_found', 'reply_to_message_id: you have neither sent nor received that message.')
  }
  return message
}

/** Commit a message with its parts as one unit. Undefined if a condition did not hold: then nothing is stored. */
async function commit(
  account: AccountStore,
  recipient: Recipient,
  message: ReviewedMessage,
  parts: readonly SendPart[],
): Promise<SentMessage | undefined> {
  const isAllOrNothing = parts.some(({ needsMessage }) => needsMessage)
  const unit = parts.flatMap(({ preconditions = [] }) => preconditions)
  const quotas = quotasOf(account, recipient.inbox)
  const first = unit.push(recipient.store(message, quotas))
  for (const { statements = [] } of parts) unit.push(...statements)
  if (isAllOrNothing) unit.push(account.change.messages.requireStored(message))
  unit.push(recipient.receipt(message, quotas))

  const rows = await account.write(unit).catch((error) => {
    if (!isAllOrNothing || !(error instanceof GridError) || error.code !== 'write_conflict') throw error
  })
  const [told] = rows?.at(-1) ?? []
  if (!rows || !told) return undefined
  const receipt: SendReceipt = JSON.parse(String(told.receipt))
  const { id, conversationId, at: createdAt, hops, sanitized } = message
  const sent: SentMessage = { id, recipient: recipient.label, conversationId, createdAt, hops, ...receipt }
  if (sanitized) sent.sanitized = true
  Object.assign(sent, presenceAt(account, recipient.inbox?.agentId, receipt))
  let next = first
  for (const { statements = [], stored } of parts) {
    const end = next + statements.length
    if (stored) Object.assign(sent, await stored(rows.slice(next, end)))
    next = end
  }
  return sent
}
