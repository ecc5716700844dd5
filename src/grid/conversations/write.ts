/** Writing as a person. See docs/security.md, "People and their aliases". */
import { GridError } from '../../errors.ts'
import { isId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Seat } from '../../store/account/seats.ts'
import type { SendInput, SentMessage } from '../messaging/outgoing-message.ts'
import { isSelf } from '../messaging/resolve.ts'
import { sendMessage } from '../messaging/send-message.ts'
import { callingSeat } from '../people/seats.ts'

export interface NewPersonMessage {
  /** `@alias`, with or without `@`, or `#channel`. */
  to: string
  text: string
  conversationId?: string
  /** Made with the form: sending it again stores the message once. */
  idempotencyKey?: string
}

export interface PersonReply {
  /** The message that is answered: one to or from the person. */
  messageId: string
  text: string
  idempotencyKey?: string
}

/**
 * Write to an agent, a person or a channel, as the calling user. The message is of type `human`, takes the same way as
 * every other, and is input from outside for the conversations of agents.
 * Fails with `wrong_credential`, `not_allowed`, `alias_required`, `self_message`, or as `sendMessage` does.
 */
export async function writeMessage(account: AccountStore, input: NewPersonMessage): Promise<SentMessage> {
  const seat = await callingSeat(account)
  if (isSelf(seat, input.to)) {
    throw new GridError('self_message', 'This is your own alias. Write to somebody else.', { field: 'to' })
  }
  return await sendAs(account, seat, input)
}

/**
 * Answer a message, as the calling user: where the message came from, or once more where they sent it.
 * Fails with `message_not_found` if it is neither to nor from them, and as `writeMessage` does.
 */
export async function replyToMessage(
  account: AccountStore,
  { messageId, text, idempotencyKey }: PersonReply,
): Promise<SentMessage> {
  const seat = await callingSeat(account)
  const to = await addressOfAnswer(account, seat, messageId)
  return await sendAs(account, seat, { to, text, replyToMessageId: messageId, idempotencyKey })
}

/**
 * To whom an answer to a message goes: `@alias` or `#channel`. An agent of the account is meant by itself: its alias may
 * be another one by now, and the former one somebody else's.
 * Fails with `message_not_found` if the message is neither to nor from the seat, or with `recipient_not_found`.
 */
export async function addressOfAnswer(account: AccountStore, { agentId }: Seat, messageId: string): Promise<string> {
  const { seats } = account.read
  const end = isId(messageId)
    ? await seats.writer(agentId, messageId) ?? await seats.recipient(agentId, messageId)
    : undefined
  if (!end) throw new GridError('message_not_found', 'You can answer messages to you and from you. This is neither.')
  const { name, aliasNow, isElsewhere } = end
  if (isElsewhere) return name
  if (aliasNow === null) throw new GridError('recipient_not_found', `${name} of this conversation is deleted.`)
  return `@${aliasNow}`
}

/** A seat has no trial: its person is a member of the account. */
async function sendAs(account: AccountStore, { agentId, alias }: Seat, input: SendInput): Promise<SentMessage> {
  return await sendMessage(account, { agentId, alias, isUnlimited: true }, input)
}
