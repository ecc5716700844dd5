/** Writing as a person. See docs/people.md, "People who write". */
import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorCode, GridError } from '../../errors.ts'
import { isId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PersonAlias } from '../../store/account/person-aliases.ts'
import type { Concern, SendInput, SentMessage } from '../message/outgoing-message.ts'
import { isSelf } from '../send/resolve.ts'
import { sendMessage } from '../messaging/send-message.ts'
import type { GivenPart } from '../message/part.ts'
import { callingPersonAlias } from '../people/person-aliases.ts'
import { type Reader, readerOf } from './may-read.ts'
import { findMessage, type ThreadMessage } from './messages.ts'
import type { OpenMessage } from './open.ts'
import { findThread, type Thread, type ThreadAgent, unknownConversation } from './threads.ts'

interface NewPersonMessage {
  to: string
  text: string
  conversationId?: string
  parts?: GivenPart[]
  expiresInSeconds?: number
  /** Created with the form, so that a repeated submission does not store the message twice. */
  idempotencyKey?: string
}

interface PersonReply {
  messageId: string
  text: string
  parts?: GivenPart[]
  expiresInSeconds?: number
  idempotencyKey?: string
  concern?: Concern
}

export async function writeMessage(account: AccountStore, input: NewPersonMessage): Promise<SentMessage> {
  const personAlias = await callingPersonAlias(account)
  if (isSelf(personAlias, input.to)) {
    throw new GridError('self_message', 'This is your own alias. Write to someone else.', { field: 'to' })
  }
  return await sendAs(account, personAlias, input)
}

/** Answers a message as the calling user. Sends to the message's sender, or to its recipient if the user sent it. */
export async function replyToMessage(
  account: AccountStore,
  { messageId, ...input }: PersonReply,
): Promise<SentMessage> {
  const personAlias = await callingPersonAlias(account)
  const to = await addressOfAnswer(account, personAlias, messageId)
  return await sendAs(account, personAlias, { ...input, to, replyToMessageId: messageId })
}

/** Returns the recipient of an answer: an agent of the account by its current alias, which may have changed. */
async function addressOfAnswer(account: AccountStore, { agentId }: PersonAlias, messageId: string): Promise<string> {
  const { personAliases } = account.read
  const [writer, recipient] = isId(messageId)
    ? await Promise.all([personAliases.writer(agentId, messageId), personAliases.recipient(agentId, messageId)])
    : []
  const end = writer ?? recipient
  if (!end) throw new GridError('message_not_found', 'You can only answer messages that you sent or received.')
  const { name, aliasNow, isElsewhere } = end
  if (isElsewhere) return name
  if (aliasNow === null) throw new GridError('recipient_not_found', `${name} has been deleted and cannot be answered.`)
  return `@${aliasNow}`
}

async function sendAs(account: AccountStore, { agentId, alias }: PersonAlias, input: SendInput): Promise<SentMessage> {
  return await sendMessage(account, { agentId, alias, isUnlimited: true }, input)
}

/** The recipient of a person's message that is not a reply. */
interface Addressee {
  to: string
  conversationId?: string
}

/** Returns a conversation's channel or other agent. Undefined if there is none that the reader can write to. */
export function addresseeIn(reader: Reader, thread: Thread): Addressee | undefined {
  const { personAlias, channels } = reader
  const { channel, conversationId } = thread
  if (personAlias && channel) {
    return channels.has(channel.id) && !channel.isDeleted ? { to: `#${channel.name}` } : undefined
  }
  const other = otherEndOf(reader, thread)
  if (!other || other.isDeleted || other.isHook) return undefined
  return { to: `@${other.alias}`, ...(conversationId !== null && { conversationId }) }
}

export function otherEndOf({ personAlias }: Reader, { agents }: Pick<Thread, 'agents'>): ThreadAgent | undefined {
  const others = agents.filter(({ id }) => id !== personAlias?.agentId)
  return agents.length === 2 && others.length === 1 ? others[0] : undefined
}

/** Whether the reader can answer a readable message; see `isMine` of `OpenMessage`. */
export function canAnswer(
  reader: Reader,
  thread: Pick<Thread, 'channel' | 'agents'>,
  { fromAgentId, isMine }: Pick<OpenMessage, 'fromAgentId' | 'isMine'>,
): boolean {
  if (!reader.personAlias || !isMine || fromAgentId === reader.personAlias.agentId) return false
  if (thread.channel) return !thread.channel.isDeleted
  const other = otherEndOf(reader, thread)
  return !other?.isDeleted && !other?.isHook
}

export interface AnsweredMessage {
  message: ThreadMessage
  to: string
}

const cannotAnswer: ErrorCode[] = ['alias_required', 'message_not_found', 'recipient_not_found']

/** Returns the message of a conversation that the calling user wants to answer; undefined if they may not answer it. */
export async function findAnswered(
  account: AccountStore,
  threadId: number,
  seq: number,
): Promise<AnsweredMessage | undefined> {
  try {
    const [message, personAlias] = await Promise.all([messageIn(account, threadId, seq), callingPersonAlias(account)])
    return message && { message, to: await addressOfAnswer(account, personAlias, message.id) }
  } catch (error) {
    if (error instanceof GridError && cannotAnswer.includes(error.code)) return undefined
    throw error
  }
}

/** Returns a message of a conversation by its `seq`; undefined if it is not there. */
export async function messageIn(
  account: AccountStore,
  threadId: number,
  seq: number,
): Promise<ThreadMessage | undefined> {
  const message = await findMessage(account, { seq })
  return message?.threadId === threadId ? message : undefined
}

interface NewAnswer {
  text: string
  parts?: GivenPart[]
  /** The `seq` of the answered message. Without it the text goes to the addressee of the conversation. */
  answers?: number
  expiresInSeconds?: number
  idempotencyKey?: string
}

export async function writeInConversation(
  account: AccountStore,
  threadId: number,
  { answers, ...input }: NewAnswer,
): Promise<SentMessage> {
  const reader = await readerOf(account)
  const thread = await findThread(account, threadId)
  if (!thread) throw unknownConversation()
  await callingPersonAlias(account)
  if (answers !== undefined) {
    const answered = await messageIn(account, threadId, answers)
    if (!answered) {
      throw new GridError('message_not_found', 'The message that you are answering is no longer in this conversation.')
    }
    return await replyToMessage(account, { ...input, messageId: answered.id })
  }
  const addressee = addresseeIn(reader, thread)
  if (!addressee) {
    throw new GridError(
      'not_allowed',
      'Your alias is not part of this conversation. Write to one of its agents instead.',
    )
  }
  return await writeMessage(account, { ...input, ...addressee })
}

const placingMs = 2_000
const stepMs = 20

/** Returns the place of a message that the caller has just sent; undefined if it has none within two seconds. */
export async function placeOfSent(account: AccountStore, id: string): Promise<ThreadMessage | undefined> {
  for (let waited = 0; waited < placingMs; waited += stepMs) {
    const found = await findMessage(account, { id })
    if (found) return found
    await sleep(stepMs)
  }
  return await findMessage(account, { id })
}
