/** Sending: one message to an agent or to a channel. What became of it is `message-status.ts`. */
import { type AgentActor, callingAgent } from '../../auth/actor.ts'
import { hashForLookup } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { characters, wellFormed } from '../../lib/text.ts'
import { day, minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Answer } from '../../store/account/receipts.ts'
import type { NewMessage } from '../../store/account/messages.ts'
import type { Statement } from '../../store/driver/binding.ts'
import { aliasPattern, bareAlias, bareChannelName } from '../agents/alias.ts'

/** Longest text of a message, in characters. */
export const maxMessageLength = 10_000
/** How long an idempotency key is remembered. */
export const keyLifetimeMs = 7 * day
const maxKeyLength = 200
/** Who was seen within this time counts as active. */
const activeMs = 10 * minute
/** Attempts of a send whose conditions changed between reading and writing. */
const maxAttempts = 3

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

export interface SendInput {
  /** `@alias`, with or without `@`, or `#channel`. */
  to: string
  text: string
  replyToMessageId?: string
  conversationId?: string
  /** Repeating a send with the same key stores it once; other content under it is refused. */
  idempotencyKey?: string
  /** What a repeat under the key must agree with, where that is more than the content. */
  request?: string
  a2a?: A2aDetails
  /** Whether an agent may write to itself. Default: no. */
  toSelf?: boolean
}

/** A message that is on disk, and whom its sender writes to. A repeat under the same key is told the same. */
export interface SentMessage extends Answer {
  /** What callers see as `message_id`. */
  id: string
  /** As addressed: `@alias` or `#name`. */
  recipient: string
  conversationId: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
}

/** Where one message is to go, as found by reading. */
type Target =
  | { kind: 'agent'; label: string; id: string; seenAt: number | null }
  | { kind: 'stranger'; label: string; id: string; home: string }
  | { kind: 'channel'; label: string; id: string; members: number }

/**
 * Put a message from the calling agent into another agent's mailbox, or into that
 * of every other member of a channel. When this returns, it is on disk.
 *
 * Fails with `wrong_credential`, `invalid_input`, `message_too_long`, `recipient_not_found`,
 * `channel_not_found`, `not_channel_member`, `self_message`, `message_not_found` (the one replied to),
 * `idempotency_conflict`, `trial_expired` or `unavailable`.
 *
 * Spec: "Grid message"; effect of "A2A `message/send`"; "States and transitions", signup trial.
 */
export async function sendMessage(account: AccountStore, input: SendInput): Promise<SentMessage> {
  const sender = callingAgent(account.actor)
  const text = checkText(input.text)
  const key = checkKey(input.idempotencyKey)
  const requestHash = key === null ? '' : hashOf(input)

  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (key !== null) {
      const earlier = await findRepeat(account, sender, key, requestHash)
      if (earlier) return earlier
    }
    const target = await findTarget(account, sender, input)
    const repliedTo = await conversationOf(account, sender, input.replyToMessageId)
    const conversationId = checkConversation(input.conversationId) ?? repliedTo

    const message: NewMessage = {
      id: newId(),
      from: sender.agentId,
      type: 'agent',
      recipient: target.label,
      body: text,
      replyToMessageId: input.replyToMessageId ?? null,
      conversationId,
      a2a: input.a2a ? JSON.stringify(input.a2a) : null,
      flagged: false,
      key,
      at: account.deps.now(),
    }
    const stored = await store(account, sender, message, target, requestHash)
    if (stored) {
      account.waiting.wakes.wake(stored.recipients)
      return { id: message.id, recipient: target.label, conversationId, createdAt: message.at, ...stored.answer }
    }
    // A condition of the write did not hold. What can be read now says which; otherwise it holds again.
    await refuseEndedTrial(account, sender)
  }
  throw new GridError('unavailable', 'The grid changed while this message was sent. Send it again.', {
    retryAfterSeconds: 1,
  })
}

/**
 * Whether the calling agent may write to an alias, itself included; what `sendMessage` finds out for itself.
 * Fails with `wrong_credential` or `recipient_not_found`.
 */
export async function checkRecipient(account: AccountStore, alias: string): Promise<void> {
  await findAgent(account, callingAgent(account.actor), bareAlias(alias), true)
}

function checkText(text: string): string {
  const checked = wellFormed(text)
  if (checked === undefined) throw new GridError('invalid_input', 'The message contains U+0000. Remove it.')
  if (checked === '') throw new GridError('invalid_input', 'The message is empty.')
  if (checked.length > maxMessageLength && characters(checked) > maxMessageLength) {
    throw new GridError(
      'message_too_long',
      `The message has ${characters(checked)} characters, at most ${maxMessageLength} are allowed. Split it.`,
    )
  }
  return checked
}

function checkConversation(id: string | undefined): string | undefined {
  if (id !== undefined && wellFormed(id) !== id) {
    throw new GridError('invalid_input', 'The id of the conversation is not well-formed text.')
  }
  return id
}

function checkKey(key: string | undefined): string | null {
  if (key === undefined) return null
  if (key === '' || key.length > maxKeyLength || wellFormed(key) !== key) {
    throw new GridError('invalid_input', `An idempotency key has 1 to ${maxKeyLength} characters.`)
  }
  return key
}

/** What was asked: by default the content of the send, whatever the door. A repeat must agree with it. */
function hashOf({ to, text, replyToMessageId, conversationId, a2a, request }: SendInput): string {
  if (request !== undefined) return hashForLookup(request)
  const address = to.trim().toLowerCase().replace(/^@/, '')
  return hashForLookup(JSON.stringify([address, text, replyToMessageId, conversationId, a2a]))
}

async function findRepeat(
  account: AccountStore,
  sender: AgentActor,
  key: string,
  requestHash: string,
): Promise<SentMessage | undefined> {
  const earlier = await account.read.messages.byKey(sender.agentId, key, account.deps.now() - keyLifetimeMs)
  if (!earlier) return undefined
  if (earlier.requestHash !== requestHash) {
    throw new GridError(
      'idempotency_conflict',
      'This idempotency key was used for another message. Use a new key for new content.',
    )
  }
  const { id, recipient, conversationId, createdAt, answer } = earlier
  return { id, recipient, conversationId, createdAt, ...await answerOf(account, sender.agentId, answer) }
}

async function findTarget(account: AccountStore, sender: AgentActor, input: SendInput): Promise<Target> {
  return input.to.trim().startsWith('#')
    ? await findChannel(account, sender, bareChannelName(input.to))
    : await findAgent(account, sender, bareAlias(input.to), input.toSelf ?? false)
}

async function findAgent(account: AccountStore, sender: AgentActor, alias: string, toSelf: boolean): Promise<Target> {
  const label = `@${alias}`
  if (!aliasPattern.test(alias)) throw new GridError('recipient_not_found', `Agent '${label}' not found`)
  const own = await account.read.agents.mailbox(alias)
  if (own?.id === sender.agentId && !toSelf) {
    throw new GridError('self_message', 'This is your own alias. A message goes to another agent.')
  }
  if (own) return { kind: 'agent', label, id: own.id, seenAt: own.lastSeenAt }

  const foreign = await account.read.directory.byAlias(alias, sender.alias)
  // Private, refusing and missing agents of other accounts look alike.
  if (!foreign) throw new GridError('recipient_not_found', `Agent '${label}' not found`)
  return { kind: 'stranger', label, id: foreign.id, home: foreign.home }
}

async function findChannel(account: AccountStore, sender: AgentActor, name: string): Promise<Target> {
  const channel = await account.read.channels.byName(name, sender.agentId)
  if (!channel) throw new GridError('channel_not_found', `Channel '#${name}' not found`)
  if (!channel.isMember) {
    throw new GridError('not_channel_member', `You are not a member of #${name}. An admin of the account can add you.`)
  }
  return { kind: 'channel', label: `#${name}`, id: channel.id, members: channel.memberCount }
}

/** A reply belongs to the conversation of what it answers. */
async function conversationOf(
  account: AccountStore,
  sender: AgentActor,
  repliedTo: string | undefined,
): Promise<string | null> {
  if (repliedTo === undefined) return null
  const message = await account.read.mailbox.received(sender.agentId, repliedTo) ??
    await account.read.messages.sent(repliedTo, sender.agentId)
  if (!message) {
    throw new GridError('message_not_found', 'reply_to_message_id names no message that you received or sent.')
  }
  return message.conversationId
}

/**
 * Commit a message; undefined when one of its conditions no longer held. `recipients` are those whose
 * mailbox it is now in.
 */
async function store(
  account: AccountStore,
  sender: AgentActor,
  message: NewMessage,
  target: Target,
  requestHash: string,
): Promise<{ recipients: string[]; answer: Answer } | undefined> {
  const { messages } = account.change
  const chars = message.body.length + (message.a2a?.length ?? 0)
  const count = sender.isUnlimited ? [] : [messages.countTrial(sender.agentId)]
  const statements: Statement[] = target.kind === 'channel'
    ? [messages.addPost(message, target.id), ...count, messages.fanOut(message, target.id, chars, target.members)]
    : [messages.addDirect(message, target), ...count, messages.deliver(message, target, chars)]
  const { key } = message
  // A key past its time is free again, so it goes before the insert that asks for it.
  const forget = key === null ? [] : [messages.forgetKey(message.from, key, message.at - keyLifetimeMs)]
  const remember = key === null ? [] : [messages.addKey({ ...message, key }, requestHash)]
  const rows = await account.write([...forget, ...statements, ...remember, answering(account, message, target)])
  const [told] = rows[rows.length - 1]
  if (!told) return undefined
  const delivered = rows[forget.length + statements.length - 1]
  return {
    recipients: target.kind === 'channel' ? delivered.map((row) => String(row.agent_id)) : [target.id],
    answer: JSON.parse(String(told.answer)),
  }
}

function answering({ change: { answers } }: AccountStore, message: NewMessage, target: Target): Statement {
  if (target.kind === 'agent') return answers.ofAgent(message, target.id, target.seenAt)
  if (target.kind === 'stranger') return answers.ofStranger(message)
  return answers.ofChannel(message, message.at - activeMs)
}

/** Of sends from before answers were kept there is none. */
async function answerOf(account: AccountStore, agentId: string, kept: string | null): Promise<Answer> {
  return kept === null ? { unread: await account.read.mailbox.unread(agentId) } : JSON.parse(kept)
}

async function refuseEndedTrial(account: AccountStore, sender: AgentActor): Promise<void> {
  const trial = await account.read.agents.trial(sender.agentId)
  if (!trial || (trial.used < trial.max && trial.expiresAt > account.deps.now())) return
  throw new GridError(
    'trial_expired',
    `The trial of this agent has ended (${trial.used} of ${trial.max} messages sent). Its owner can claim the agent with the link from the signup.`,
  )
}
