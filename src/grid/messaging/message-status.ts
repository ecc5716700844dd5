/** The status of a sent message: which recipients read it, and its timeline. */
import { callingAgent } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { isoTime } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { HeldStatus } from '../../store/account/held.ts'
import type { RecipientStatus } from '../../store/account/thread-messages.ts'
import type { VerdictAction } from '../../store/account/verdicts.ts'
import { type RemoteEvent, remoteEvents } from './remote-progress.ts'

const maxTimeline = 200

interface TimelineEntry {
  alias: string
  /**
   * `stored` in the inbox; `woken`: a waiting read or stream was notified; `leased` by a read or a program; `released`
   * from its lease; `parked` because it cannot be shown, was released five times, or the agent was deleted; `expired`
   * or `retracted` while unread; `replied` to the sender. To a remote agent, it was `sent`; the agent `accepted` it and
   * is `working`, or it `failed`.
   */
  event:
    | 'stored'
    | 'woken'
    | 'leased'
    | 'released'
    | 'parked'
    | 'expired'
    | 'retracted'
    | 'replied'
    | 'held'
    | 'approved'
    | 'edited'
    | 'refused'
    | RemoteEvent['event']
  at: number
  /** For `sent` events. */
  attempt?: number
  reason?: string
}

interface MessageStatus {
  id: string
  recipient: string
  sentAt: number
  /** The time of a scheduled send. */
  sendAt?: number
  readBy: { alias: string; readAt: number }[]
  /**
   * `scheduled` until its send time. `held` until a person decides, and `refused` if they refused it. `queued` while a
   * recipient has not read it, and `pending` if a remote agent is among them. `leased` while a program works on it and
   * has not acked it. `read` when no delivery is unread or leased. `failed` if no recipient can read it, because each
   * was deleted, its task was canceled, it cannot be shown, or a remote agent refused it. `delivered` when remote
   * agents have accepted it. `retracted` by its sender, or `expired` for a recipient before another has read it.
   */
  delivery:
    | 'scheduled'
    | 'held'
    | 'refused'
    | 'queued'
    | 'leased'
    | 'read'
    | 'pending'
    | 'delivered'
    | 'failed'
    | 'expired'
    | 'retracted'
  timeline: TimelineEntry[]
  leftOut: number
  guardrails: GuardrailEntry[]
  /** The hosts to which a person's guardrail sent the text. */
  sharedWith?: string
}

/** What a guardrail did to a message. For another account's guardrail, only the kinds of redacted content are shown. */
interface GuardrailEntry {
  action: VerdictAction
  kinds: string[]
  name?: string
  /** The aliases (without `@`) of the agents whose guardrail acted: the sender or recipients. */
  agents?: string[]
}

const maxGuardrails = 100

/** Returns the readers and timeline of the caller's message; for other accounts' agents, only reads and replies. */
export async function messageStatus(account: AccountStore, messageId: string): Promise<MessageStatus> {
  const sender = callingAgent(account.actor)
  const [message, recipients, held, further, verdicts] = await Promise.all([
    account.read.messages.sent(messageId, sender.agentId),
    account.read.messageStatus.of(messageId),
    account.read.held.ofMessage(messageId),
    furtherEvents(account, sender.agentId, messageId),
    account.read.verdicts.ofMessage(messageId, maxGuardrails),
  ])
  if (!message) return await scheduledStatus(account, messageId, sender.agentId)
  const isRemote = recipients.some(({ type, isOwn }) => type === 'a2a' && isOwn)
  const remote = isRemote ? await remoteEvents(account, messageId) : new Map<string, RemoteEvent[]>()
  const ofRecipients = recipients.flatMap((recipient) => eventsOf(recipient, remote.get(recipient.agentId)))
  const ofHolds = held.flatMap((hold) => holdEvents(hold, message.recipient.replace('@', '')))
  const events = [...ofHolds, ...ofRecipients, ...further]
    // Events in the same millisecond are in their logical order.
    .sort((a, b) => a.at - b.at || order.indexOf(a.event) - order.indexOf(b.event))
  return {
    id: message.id,
    recipient: message.recipient,
    sentAt: message.createdAt,
    readBy: recipients.flatMap(({ alias, state, readAt, isLeased }) =>
      isRead(state) && readAt !== null && !isLeased ? [{ alias, readAt }] : []
    ),
    delivery: deliveryOfHeld(held, recipients) ?? deliveryOf(recipients),
    timeline: events.slice(-maxTimeline),
    leftOut: Math.max(0, events.length - maxTimeline),
    guardrails: verdicts.map((verdict) => ({
      action: verdict.action,
      kinds: JSON.parse(verdict.kinds),
      ...(verdict.isOwn === 1 && { name: verdict.guardrail, agents: JSON.parse(verdict.agents) }),
    })),
    ...(message.sharedWith !== null && { sharedWith: message.sharedWith }),
  }
}

async function scheduledStatus(account: AccountStore, messageId: string, agentId: string): Promise<MessageStatus> {
  const found = await account.read.scheduled.byId(agentId, messageId)
  if (!found) throw new GridError('message_not_found', 'You have not sent a message with this id.')
  const { id, recipient, createdAt: sentAt, sendAt } = found
  return { id, recipient, sentAt, sendAt, readBy: [], delivery: 'scheduled', timeline: [], leftOut: 0, guardrails: [] }
}

const order: TimelineEntry['event'][] = [
  'held',
  'edited',
  'approved',
  'refused',
  'stored',
  'woken',
  'leased',
  'sent',
  'accepted',
  'working',
  'released',
  'parked',
  'expired',
  'retracted',
  'failed',
  'replied',
]

/** Returns the events while the message was held. `alias` is its recipient's. Omits deciders of another account. */
function holdEvents(
  { state, isOwn, heldAt, expiresAt, decidedAt, decider, reason, edited, deciders }: HeldStatus,
  alias: string,
): TimelineEntry[] {
  const who = deciders.length > 0 ? deciders.join(', ') : isOwn ? 'the people of a rule' : 'people of another account'
  const held: TimelineEntry = { alias, event: 'held', at: heldAt, reason: `For ${who}, until ${isoTime(expiresAt)}` }
  if (decidedAt === null || state === 'held' || state === 'joined') return [held]
  const by = decider === null ? {} : { reason: `By ${decider}${reason === null ? '' : `: ${reason}`}` }
  const ended: TimelineEntry = { alias, event: state, at: decidedAt, ...(reason !== null && { reason }), ...by }
  return [held, ...edited ? [{ alias, event: 'edited' as const, at: decidedAt }] : [], ended]
}

function deliveryOfHeld(
  holds: readonly HeldStatus[],
  recipients: readonly unknown[],
): MessageStatus['delivery'] | undefined {
  const state = holds.at(-1)?.state
  if (state === undefined || state === 'approved' || recipients.length > 0) return undefined
  return state === 'joined' ? 'held' : state
}

/** Returns the events of a delivery. `remote` contains the events at a remote agent of the account. */
function eventsOf(recipient: RecipientStatus, remote: RemoteEvent[] = []): TimelineEntry[] {
  const { alias, type, state, createdAt, wokenAt, readAt, isOwn } = recipient
  const events: TimelineEntry[] = [{ alias, event: 'stored', at: createdAt }]
  if (remote.length > 0) return [...events, ...remote.map((event) => ({ alias, ...event }))]
  if (isRead(state) && readAt !== null) {
    events.push({ alias, event: type === 'a2a' ? 'accepted' : 'leased', at: readAt })
  }
  if ((state === 'expired' || state === 'retracted') && readAt !== null) {
    events.push({ alias, event: state, at: readAt })
  }
  // Only the recipient's account may see when the agent was woken and when the message was parked.
  if (isOwn && wokenAt !== null) events.push({ alias, event: 'woken', at: wokenAt })
  if (isOwn && state === 'parked' && readAt !== null) events.push({ alias, event: 'parked', at: readAt })
  return events
}

async function furtherEvents(account: AccountStore, agentId: string, messageId: string): Promise<TimelineEntry[]> {
  const { messageStatus } = account.read
  const [released, replies] = await Promise.all([
    messageStatus.released(messageId, maxTimeline),
    messageStatus.replies(messageId, agentId, maxTimeline),
  ])
  return [
    ...released.flatMap(({ alias, leasedAt, releasedAt }): TimelineEntry[] => [
      { alias, event: 'leased', at: leasedAt },
      { alias, event: 'released', at: releasedAt },
    ]),
    ...replies.map(({ alias, createdAt }): TimelineEntry => ({ alias, event: 'replied', at: createdAt })),
  ]
}

/** Whether the recipient has the message: it was read, or it is only in a task. */
function isRead(state: string): boolean {
  return state === 'read' || state === 'task'
}

/** Returns the state of a message. A post to a channel without other members has no recipients and stays `queued`. */
function deliveryOf(recipients: Pick<RecipientStatus, 'state' | 'type' | 'isLeased'>[]): MessageStatus['delivery'] {
  const unread = recipients.filter((recipient) => recipient.state === 'unread')
  if (unread.some((recipient) => recipient.type === 'a2a')) return 'pending'
  if (unread.length > 0 || recipients.length === 0) return 'queued'
  if (recipients.some(({ isLeased }) => isLeased)) return 'leased'
  if (recipients.every(({ type, state }) => type === 'a2a' && isRead(state))) return 'delivered'
  const isAny = (state: RecipientStatus['state']) => recipients.some((recipient) => recipient.state === state)
  if (recipients.some(({ state }) => isRead(state))) return 'read'
  return isAny('retracted') ? 'retracted' : isAny('expired') ? 'expired' : 'failed'
}
