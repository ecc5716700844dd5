/** Reads messages without changing anything, whether or not they were read before. */
import { crc32 } from 'node:zlib'
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { isId } from '../../lib/id.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxMessage } from '../../store/account/inbox-message.ts'
import { Buffer } from 'node:buffer'
import { jsonLine } from '../../lib/redact.ts'
import {
  asGridMessage,
  type Budget,
  budgetOf,
  fitting,
  type GridMessage,
  type MessageView,
  type PageSize,
  rendered,
} from './inbox-message.ts'
import { requireOffset } from '../message/read-part.ts'

const maxClockSkewMs = 5 * minute
const unitMs: Record<string, number> = { s: second, m: minute, h: hour, d: day }
const durationPattern = /^(\d{1,6}) ?(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)( ago)?$/i
const isoPattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:?\d\d)?)?$/i

export interface Page {
  messages: GridMessage[]
  /** Whether more messages follow, or precede with `last:20`. To get them, pass the cursor as `since`. */
  hasMore: boolean
  cursor: string
}

/**
 * Returns a page of the calling agent's inbox, oldest first. `since` is `last_batch` (the newest lease), `last:20` (the
 * newest 20), a duration such as `1h`, an ISO 8601 time (of storing), the id of a message, or a cursor. Without it, the
 * page shows what the next read would lease. Fails with `invalid_input`, `message_not_found` or `cursor_expired`. See
 * docs/protocol/mcp.md, "read_messages".
 */
export async function readAgain(account: AccountStore, input: PageSize & { since?: string }): Promise<Page> {
  const { agentId } = callingAgent(account.actor)
  const budget = budgetOf(input)
  const newest = newestOf(input.since)
  if (newest) return await readNewest(account, agentId, newest, budget)
  // One extra row shows whether there is more.
  const { found, from } = await select(account, agentId, input.since, budget.limit + 1)
  const page = fitting(found, budget, (message) => bytesShown(message, budget))
  const next = found[page.length]
  return {
    // Damaged messages are left out. A read parks them; reading again changes nothing.
    messages: rendered(page, (message, introducesSender) => {
      return asShownAgain(message, { maxChars: budget.maxChars, introducesSender })
    }).messages,
    hasMore: next !== undefined,
    cursor: cursorAt(account, agentId, page.at(-1)?.seq ?? from),
  }
}

/** `last:20`, or the cursor of an earlier page: `last:20:` and a position. */
const newestPattern = /^last:(\d{1,6})(?::(.+))?$/i

function newestOf(since: string | undefined): { count: number; before?: string } | undefined {
  const [, count, before] = since?.trim().match(newestPattern) ?? []
  return Number(count) > 0 ? { count: Number(count), before } : undefined
}

/** Returns the newest messages that fit, oldest first. The cursor is for the messages before them. */
async function readNewest(
  account: AccountStore,
  agentId: string,
  { count, before }: { count: number; before?: string },
  budget: Budget,
): Promise<Page> {
  const limit = Math.min(count, budget.limit)
  const upTo = before === undefined ? Number.MAX_SAFE_INTEGER : positionOf(account, agentId, before)
  const found = await account.read.inbox.newest(agentId, upTo, limit + 1, account.deps.now())
  const page = fitting(found.toReversed(), { ...budget, limit }, (message) => bytesShown(message, budget)).toReversed()
  const hasMore = page.length < found.length
  const position = cursorAt(account, agentId, (hasMore ? page[0] : page.at(-1))?.seq ?? 0)
  return {
    messages: rendered(page, (message, introducesSender) => {
      return asShownAgain(message, { maxChars: budget.maxChars, introducesSender })
    }).messages,
    hasMore,
    cursor: hasMore ? `last:${count}:${position}` : position,
  }
}

/** Returns the bytes that a message takes at most in the response. 0 for damaged messages, which are omitted. */
function bytesShown(message: InboxMessage, { maxChars, maxBytes }: Budget): number {
  if (maxBytes > Number.MAX_SAFE_INTEGER / 2) return 0
  try {
    return Buffer.byteLength(jsonLine(asShownAgain(message, { maxChars, introducesSender: true }))) + 1
  } catch {
    return 0
  }
}

/** Returns a message received by the calling agent, from `offset` of its text. */
export async function readMessage(
  account: AccountStore,
  messageId: string,
  { offset = 0, maxChars }: { offset?: number; maxChars?: number } = {},
): Promise<Page> {
  const { agentId } = callingAgent(account.actor)
  const budget = budgetOf({ maxChars })
  const stored = await account.read.inbox.message(agentId, messageId.toLowerCase(), account.deps.now())
  if (typeof stored?.body === 'string') requireOffset(offset, withoutInvisible(stored.body).length)
  // A caller that continues reading knows the sender.
  const view = { maxChars: budget.maxChars, offset, introducesSender: offset === 0 }
  const [message] = stored ? rendered([stored], (found) => asShownAgain(found, view)).messages : []
  if (!stored || !message) throw new GridError('message_not_found', 'You have not received a message with this id.')
  return {
    messages: [message],
    hasMore: message.shortened !== undefined,
    cursor: cursorAt(account, agentId, stored.seq),
  }
}

/** Returns the selected messages in their order, and the position for the cursor if none were selected. */
async function select(
  account: AccountStore,
  agentId: string,
  since: string | undefined,
  limit: number,
): Promise<{ found: InboxMessage[]; from: number }> {
  const { inbox } = account.read
  const now = account.deps.now()
  if (since === undefined) {
    return { found: await inbox.nextUnread(agentId, limit, now), from: await inbox.lastRead(agentId) }
  }
  if (since === 'last_batch') {
    const lease = await inbox.lastLease(agentId)
    const found = lease === null ? [] : await inbox.ofEndedLease(agentId, lease)
    return { found, from: await inbox.lastRead(agentId) }
  }
  const at = timeOf(since, now)
  if (at !== undefined) {
    const found = await inbox.storedSince(agentId, at, at - maxClockSkewMs, limit, now)
    return { found, from: await inbox.lastRead(agentId) }
  }
  const from = isId(since) ? await positionOfMessage(account, agentId, since) : positionOf(account, agentId, since)
  return { found: await inbox.after(agentId, from, limit, now), from }
}

/** Parses a time: ISO 8601, in UTC if it has no zone, or a duration before `now`. */
export function timeOf(text: string, now: number): number | undefined {
  const [, count, unit] = text.trim().match(durationPattern) ?? []
  if (unit !== undefined) return now - Number(count) * unitMs[unit[0].toLowerCase()]
  const [, date, time, zone] = text.trim().match(isoPattern) ?? []
  if (date === undefined) return undefined
  const at = Date.parse(`${date}T${time ?? '00:00'}${zone ?? 'Z'}`)
  return Number.isNaN(at) ? undefined : at
}

async function positionOfMessage(account: AccountStore, agentId: string, messageId: string): Promise<number> {
  const message = await account.read.inbox.message(agentId, messageId.toLowerCase(), account.deps.now())
  if (!message) {
    throw new GridError('message_not_found', 'You have not received a message with this id.', { field: 'since' })
  }
  return message.seq
}

function asShownAgain(message: InboxMessage, view: MessageView): GridMessage {
  return { ...asGridMessage(message, view), ...(message.state === 'read' && { replayed: true as const }) }
}

type MessageSummary = Pick<
  GridMessage,
  | 'message_id'
  | 'user'
  | 'channel'
  | 'type'
  | 'via'
  | 'conversation_id'
  | 'reply_to_message_id'
  | 'timestamp'
  | 'redelivered'
>

type UnreadMessage = Awaited<ReturnType<AccountStore['read']['inbox']['nextUnread']>>[number]

interface InboxPeek<Message> {
  agent: string
  /** The number of unread messages; 100 means 100 or more. */
  unread: number
  /** Oldest first. Damaged messages are left out. */
  messages: Message[]
  has_more: boolean
  /** Whether a person attends the agent through one of its streams. */
  presence: { attended: boolean }
}

export async function peekInbox(account: AccountStore, input: PageSize): Promise<InboxPeek<GridMessage>> {
  const budget = budgetOf(input)
  return await peek(account, budget.limit, (found) => fitting(found, budget), (message, introducesSender) => {
    return asGridMessage(message, { maxChars: budget.maxChars, introducesSender })
  })
}

/** Like `peekInbox`, but without message texts, to keep the answer short. */
export async function summarizeInbox(
  account: AccountStore,
  input: Pick<PageSize, 'limit'>,
): Promise<InboxPeek<MessageSummary>> {
  const inbox = await peek(account, budgetOf(input).limit, (found) => found, (message) => {
    return asGridMessage(message, { maxChars: 1, introducesSender: false })
  })
  return { ...inbox, messages: inbox.messages.map(summaryOf) }
}

/** Reads the unread messages for a page. `pageOf` keeps those that fit. */
async function peek(
  account: AccountStore,
  limit: number,
  pageOf: (found: UnreadMessage[]) => UnreadMessage[],
  show: Parameters<typeof rendered>[1],
): Promise<InboxPeek<GridMessage>> {
  const { agentId, alias } = callingAgent(account.actor)
  const { deps: { now }, read: { inbox }, waiting: { presence } } = account
  const [unread, found] = await Promise.all([inbox.unread(agentId), inbox.nextUnread(agentId, limit + 1, now())])
  const page = pageOf(found.slice(0, limit))
  return {
    agent: `@${alias}`,
    unread,
    messages: rendered(page, show).messages,
    has_more: found.length > page.length,
    presence: { attended: presence.at(agentId)?.state === 'attended' },
  }
}

function summaryOf(message: GridMessage): MessageSummary {
  const { message_id, user, channel, type, via, conversation_id, reply_to_message_id, timestamp, redelivered } = message
  return {
    message_id,
    user,
    channel,
    type,
    ...(via !== undefined && { via }),
    ...(conversation_id !== undefined && { conversation_id }),
    ...(reply_to_message_id !== undefined && { reply_to_message_id }),
    timestamp,
    ...(redelivered && { redelivered }),
  }
}

/** Returns the cursor of position `seq`, bound to the agent and to this history of the store. */
export function cursorAt(account: AccountStore, agentId: string, seq: number): string {
  const position = `${account.epoch}.${seq.toString(36)}`
  return `${position}.${checksum(agentId, position)}`
}

/** Parses a cursor to its `seq`. Fails with `invalid_input`, or `cursor_expired` if it is from before a restore. */
function positionOf(account: AccountStore, agentId: string, cursor: string): number {
  const [, epoch, seq, sum] = cursor.match(/^([0-9a-f]{8})\.([0-9a-z]{1,10})\.([0-9a-z]{1,7})$/) ?? []
  if (sum === undefined || sum !== checksum(agentId, `${epoch}.${seq}`)) {
    throw invalidInput(
      'since accepts last_batch, last:20, a duration such as 1h (s, m, h or d), an ISO time, a message_id, or a cursor that you were given, unchanged.',
      'since',
    )
  }
  if (epoch !== account.epoch) {
    throw new GridError(
      'cursor_expired',
      'This cursor is from before the grid was restored from a backup. Call with since: "24h" instead.',
      { field: 'since' },
    )
  }
  return parseInt(seq, 36)
}

function checksum(agentId: string, position: string): string {
  return crc32(`${agentId}.${position}`).toString(36)
}
