/** What became of a message: who has it, and what happened on the way. */
import { callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Receipt } from '../../store/account/message-status.ts'

/** Most entries of a timeline. */
export const maxTimeline = 200

/** What happened to a message at one recipient. */
export interface TimelineEntry {
  alias: string
  /**
   * `stored` in the mailbox; `woken`: somebody waited and was told; `handed_out`; `given_back`: the answer reached
   * nobody; `parked`: set aside, because it cannot be shown or the agent was deleted; `replied` to the sender.
   */
  event: 'stored' | 'woken' | 'handed_out' | 'given_back' | 'parked' | 'replied'
  /** Milliseconds since the epoch. */
  at: number
}

/** What became of a message of the calling agent. */
export interface MessageStatus {
  id: string
  recipient: string
  /** Milliseconds since the epoch. */
  sentAt: number
  readBy: { alias: string; readAt: number }[]
  /**
   * `read` when every recipient has it, `pending` while a remote agent's delivery is due, `failed` when nobody
   * will read it: all recipients were deleted before, or it cannot be shown.
   */
  delivery: 'queued' | 'read' | 'pending' | 'failed'
  /** In the order of time; the newest, at most 200. */
  timeline: TimelineEntry[]
  /** How many earlier entries the timeline leaves out. */
  leftOut: number
}

/**
 * Who read a message, and what happened to it. Of recipients in other accounts it says when they were handed it
 * and when they replied, and nothing else.
 * Fails with `message_not_found`: unknown, not sent by the caller, or past its retention.
 */
export async function messageStatus(account: AccountStore, messageId: string): Promise<MessageStatus> {
  const sender = callingAgent(account.actor)
  const message = await account.read.messages.sent(messageId, sender.agentId)
  if (!message) throw new GridError('message_not_found', 'No message of yours has this id.')

  const receipts = await account.read.receipts.of(messageId)
  const events = [...receipts.flatMap(eventsOf), ...await furtherEvents(account, sender.agentId, messageId)]
    // What comes first at the same moment stays first.
    .sort((a, b) => a.at - b.at || order.indexOf(a.event) - order.indexOf(b.event))
  return {
    id: message.id,
    recipient: message.recipient,
    sentAt: message.createdAt,
    readBy: receipts.flatMap(({ alias, state, readAt }) =>
      state === 'read' && readAt !== null ? [{ alias, readAt }] : []
    ),
    delivery: deliveryOf(receipts),
    timeline: events.slice(-maxTimeline),
    leftOut: Math.max(0, events.length - maxTimeline),
  }
}

const order: TimelineEntry['event'][] = ['stored', 'woken', 'handed_out', 'given_back', 'parked', 'replied']

function eventsOf({ alias, state, createdAt, wokenAt, readAt, isOwn }: Receipt): TimelineEntry[] {
  const events: TimelineEntry[] = [{ alias, event: 'stored', at: createdAt }]
  if (state === 'read' && readAt !== null) events.push({ alias, event: 'handed_out', at: readAt })
  // When an agent waits and what becomes of its mailbox is known inside its account.
  if (isOwn && wokenAt !== null) events.push({ alias, event: 'woken', at: wokenAt })
  if (isOwn && state === 'parked' && readAt !== null) events.push({ alias, event: 'parked', at: readAt })
  return events
}

async function furtherEvents(account: AccountStore, agentId: string, messageId: string): Promise<TimelineEntry[]> {
  const { receipts } = account.read
  const returned = await receipts.returned(messageId, maxTimeline)
  const replies = await receipts.replies(messageId, agentId, maxTimeline)
  return [
    ...returned.flatMap(({ alias, readAt, returnedAt }): TimelineEntry[] => [
      { alias, event: 'handed_out', at: readAt },
      { alias, event: 'given_back', at: returnedAt },
    ]),
    ...replies.map(({ alias, createdAt }): TimelineEntry => ({ alias, event: 'replied', at: createdAt })),
  ]
}

/** A post to a channel without other members waits for nobody, and nobody has read it. */
function deliveryOf(receipts: { state: string; type: string }[]): MessageStatus['delivery'] {
  const waiting = receipts.filter((receipt) => receipt.state === 'unread')
  if (waiting.some((receipt) => receipt.type === 'a2a')) return 'pending'
  if (waiting.length > 0 || receipts.length === 0) return 'queued'
  return receipts.some((receipt) => receipt.state === 'read') ? 'read' : 'failed'
}
