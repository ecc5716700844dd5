/** Inbox messages as their recipient sees them, and how many of them fit into one response. */
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import type { DamagedMessage } from './leases.ts'

/** Most messages of one response. */
export const maxBatch = 50
/** Longest text and A2A details of one response, in UTF-16 units: at most 240 kB as UTF-8. One message always fits. */
const maxBatchChars = 80_000

/** One message as its recipient sees it; optional fields where they apply. See docs/protocol.md, "Grid message". */
export interface GridMessage {
  message_id: string
  /** `direct`, or `#name`. */
  channel: string
  /** The sender's alias with `@`. */
  user: string
  type: 'agent' | 'human' | 'system'
  message: string
  /** What to pass as `to` of `send_message` to reply. */
  reply_to: string
  timestamp: string
  reply_to_message_id?: string
  conversation_id?: string
  senderDescription?: string
  senderSkills?: string[]
  /** The sender signed up by itself and is not claimed yet. */
  unverified?: true
  /** An earlier lease of it was released. */
  redelivered?: true
  /** It was read before, and is shown again on request. */
  replayed?: true
  flagged?: true
  a2a?: unknown
}

/** How much one response may hold. */
export interface PageSize {
  /** Messages; at most 50, which is the default. */
  limit?: number
  /** Length of all messages together, in UTF-16 units. Messages are never cut. Without it, one message always fits. */
  maxChars?: number
}

/** A page size within the limits of the grid. A first message longer than `maxChars` fits alone, up to `maxOne`. */
export interface Budget {
  limit: number
  maxChars: number
  maxOne: number
}

/** Apply the limits of the grid to a page size. */
export function budgetOf({ limit = maxBatch, maxChars }: PageSize): Budget {
  return {
    limit: Math.max(1, Math.min(limit, maxBatch)),
    maxChars: Math.min(maxChars ?? maxBatchChars, maxBatchChars),
    maxOne: maxChars ?? Number.MAX_SAFE_INTEGER,
  }
}

/** The first messages that fit together. A message is never cut. */
export function fitting<Sized extends { chars: number }>(
  messages: Sized[],
  { limit, maxChars, maxOne }: Budget,
): Sized[] {
  let total = 0
  const end = messages.findIndex(({ chars }, n) => {
    total += chars
    return n === limit || (total > maxChars && (n > 0 || total > maxOne))
  })
  return end === -1 ? messages : messages.slice(0, end)
}

/** Render each message by itself: a damaged one does not keep the others back. */
export function rendered(
  stored: InboxMessage[],
  render: (message: InboxMessage) => GridMessage = asGridMessage,
): { messages: GridMessage[]; damaged: DamagedMessage[] } {
  const messages: GridMessage[] = []
  const damaged: DamagedMessage[] = []
  for (const message of stored) {
    try {
      messages.push(render(message))
    } catch (error) {
      damaged.push({ message, error })
    }
  }
  return { messages, damaged }
}

/** A message as its recipient sees it. Throws when its row is damaged. */
export function asGridMessage(message: InboxMessage): GridMessage {
  if (typeof message.body !== 'string') throw new TypeError('The body is not text')
  const isPost = message.recipient.startsWith('#')
  const user = `@${message.fromAlias}`
  const skills: string[] = JSON.parse(message.senderSkills)
  return {
    message_id: message.id,
    channel: isPost ? message.recipient : 'direct',
    user,
    type: message.type,
    message: message.body,
    reply_to: isPost ? message.recipient : user,
    timestamp: new Date(message.createdAt).toISOString(),
    ...(message.replyToMessageId && { reply_to_message_id: message.replyToMessageId }),
    ...(message.conversationId && { conversation_id: message.conversationId }),
    ...(message.senderDescription && { senderDescription: message.senderDescription }),
    ...(skills.length > 0 && { senderSkills: skills }),
    ...(message.senderState === 'provisional' && { unverified: true as const }),
    ...(message.releaseCount > 0 && { redelivered: true as const }),
    ...(message.flagged !== 0 && { flagged: true as const }),
    ...(message.a2a !== null && { a2a: JSON.parse(message.a2a) }),
  }
}
