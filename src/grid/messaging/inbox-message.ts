/** Renders inbox messages for their recipient, and fits them into a response. */
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { type InboxMessage, maxCountedUnread } from '../../store/account/inbox-message.ts'
import { endOfPiece } from '../message/read-part.ts'
import { shownDetails } from '../message/shown-parts.ts'

export const maxBatch = 50
/** Longest text and A2A details of one response, in UTF-16 units: at most 240 kB as UTF-8. */
const maxBatchChars = 80_000

/**
 * Default limit of a response to a model in bytes, and the part reserved for everything except messages. Coding clients
 * truncate or drop longer results; the lowest known limit is 40,000 characters.
 */
export const maxAnswerBytes = 30_000
const besideMessagesBytes = 600

export const howToAnswer = 'To complete this task, answer with reply_to_message_id, or call update_task.'

/** One message as its recipient sees it; optional fields where they apply. See docs/protocol/messages.md. */
export interface GridMessage {
  message_id: string
  channel: string
  user: string
  type: 'agent' | 'human' | 'system'
  /** Set if the message was sent over A2A, by a hook or from Slack. */
  via?: 'a2a' | 'slack' | 'hook'
  /** The sender belongs to another account, which is not named. */
  external?: true
  message: string
  /** The offset of `message` in the complete text, in UTF-16 units. Absent at the start. */
  offset?: number
  /** Set if the text is longer than shown: its full length, and the offset of the rest. */
  shortened?: { length: number; next_offset: number }
  /** The value of `to` for a reply with `send_message`. */
  reply_to: string
  timestamp: string
  reply_to_message_id?: string
  conversation_id?: string
  /** The task that the message belongs to. */
  task_id?: string
  /** How to answer the task, if it is open and assigned to the reader. */
  note?: typeof howToAnswer
  hops?: number
  senderDescription?: string
  senderSkills?: string[]
  /** The sender signed up by itself and is not claimed yet. */
  unverified?: true
  /** An earlier lease of the message was released. */
  redelivered?: true
  /** The message was read before, and is shown again on request. */
  replayed?: true
  flagged?: true
  /** Invisible characters were removed from the message. */
  sanitized?: true
  /** A person of the sender's or recipient's account edited the text before delivery. */
  edited?: true
  /** The hosts to which a person's guardrail sent the text for checking. */
  shared_with?: string
  /** The message's content other than its text. */
  parts?: unknown[]
  a2a?: unknown
}

export interface DamagedMessage {
  message: InboxMessage
  error: unknown
}

export interface PageSize {
  limit?: number
  /** Limit of all messages together, in UTF-16 units. A longer message is returned alone and truncated. */
  maxChars?: number
  /** Limit of the whole response as JSON. A longer first message is returned alone and complete. */
  maxBytes?: number
}

export type Budget = Required<PageSize>

/** Formats the number of unread messages for use in a sentence. Counting stops at a limit. */
export function unreadText(unread: number): string {
  return unread < maxCountedUnread ? String(unread) : `${unread} or more`
}

export function budgetOf({ limit = maxBatch, maxChars, maxBytes = Number.MAX_SAFE_INTEGER }: PageSize): Budget {
  return {
    limit: Math.max(1, Math.min(limit, maxBatch)),
    maxChars: Math.min(maxChars ?? maxBatchChars, maxBatchChars),
    maxBytes: maxBytes - besideMessagesBytes,
  }
}

/**
 * Returns the first messages that fit together. Always includes the very first, truncated if it has too many
 * characters. `bytesOf` gives a message's length in the response.
 */
export function fitting<Sized extends { chars: number }>(
  messages: Sized[],
  { limit, maxChars, maxBytes }: Budget,
  bytesOf: (message: Sized) => number = () => 0,
): Sized[] {
  let [chars, bytes] = [0, 0]
  const end = messages.findIndex((message, n) => {
    chars += message.chars
    bytes += bytesOf(message)
    return n === limit || ((chars > maxChars || bytes > maxBytes) && n > 0)
  })
  return end === -1 ? messages : messages.slice(0, end)
}

/** Renders each message separately, so that a damaged one does not block the others. */
export function rendered(
  stored: InboxMessage[],
  render: (message: InboxMessage, isFirstOfSender: boolean) => GridMessage,
): { messages: GridMessage[]; damaged: DamagedMessage[] } {
  const messages: GridMessage[] = []
  const damaged: DamagedMessage[] = []
  const senders = new Set<string>()
  for (const message of stored) {
    try {
      messages.push(render(message, !senders.has(message.fromAlias)))
      senders.add(message.fromAlias)
    } catch (error) {
      damaged.push({ message, error })
    }
  }
  return { messages, damaged }
}

export interface MessageView {
  /** Maximum length of the text and A2A details together, in UTF-16 units. The text is truncated to it. */
  maxChars: number
  offset?: number
  introducesSender: boolean
}

/** Renders a message for its recipient. Throws if its row is damaged. */
export function asGridMessage(
  message: InboxMessage,
  { maxChars, offset = 0, introducesSender }: MessageView,
): GridMessage {
  if (typeof message.body !== 'string') throw new TypeError('The body is not text')
  // Cleaned again, because older versions stored messages, skills and descriptions with invisible characters.
  const body = withoutInvisible(message.body)
  const { length } = body
  const end = endOfPiece(body, offset, maxChars)
  const isPost = message.recipient.startsWith('#')
  const user = `@${message.fromAlias}`
  const skills: string[] = introducesSender ? withoutInvisibleIn(JSON.parse(message.senderSkills)) : []
  const senderDescription = introducesSender ? withoutInvisible(message.senderDescription) : ''
  const details = message.a2a === null
    ? undefined
    : shownDetails(message.id, message.a2a, body, maxChars - (end - offset))
  return {
    message_id: message.id,
    channel: isPost ? message.recipient : 'direct',
    user,
    type: message.type,
    ...(details?.isA2a && { via: 'a2a' as const }),
    ...(message.via !== null && { via: message.via }),
    ...(message.isExternal !== 0 && { external: true as const }),
    message: offset === 0 && end === length ? body : body.slice(offset, end),
    ...(offset > 0 && { offset }),
    ...(end < length && { shortened: { length, next_offset: end } }),
    reply_to: isPost ? message.recipient : user,
    timestamp: new Date(message.createdAt).toISOString(),
    ...(message.replyToMessageId && { reply_to_message_id: message.replyToMessageId }),
    ...(message.conversationId && { conversation_id: withoutInvisible(message.conversationId) }),
    ...(message.taskId !== null && { task_id: message.taskId }),
    ...(message.awaitsAnswer !== 0 && { note: howToAnswer }),
    ...(message.hops > 0 && { hops: message.hops }),
    ...(senderDescription && { senderDescription }),
    ...(skills.length > 0 && { senderSkills: skills }),
    ...(message.senderState === 'provisional' && { unverified: true as const }),
    ...(message.releaseCount > 0 && { redelivered: true as const }),
    ...(message.flagged !== 0 && { flagged: true as const }),
    ...((message.sanitized !== 0 || body !== message.body || details?.sanitized) && { sanitized: true as const }),
    ...(message.edited !== 0 && { edited: true as const }),
    ...(message.sharedWith !== null && { shared_with: message.sharedWith }),
    ...(offset === 0 && details?.parts && { parts: details.parts }),
    ...(offset === 0 && details?.a2a && { a2a: details.a2a }),
  }
}
