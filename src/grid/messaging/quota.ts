/** What an account may send on a day, and how full an inbox may be. See docs/operations.md, "Quotas". */
import { Buffer } from 'node:buffer'
import { type GridError, limitReached } from '../../errors.ts'
import { day, minute, second } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { NewMessage } from '../../store/account/new-message.ts'
import type { SendReceipt } from '../../store/account/receipts.ts'
import type { Recipient } from './resolve.ts'

/** About what a row of a message or a delivery takes besides its text, with its entries in indexes. */
const rowBytes = 500
export const megabyte = 1_000_000
/** When to try a full inbox again. Only its agent can change it. */
const fullInboxRetrySeconds = minute / second

/**
 * Refuse a message that a quota does not allow. Reads no rows, except at the first message of an account in this
 * process. Sends at the same time pass together, so a quota may be exceeded by what is sent in about a second.
 *
 * Fails with `quota_exceeded`.
 */
export async function checkQuotas({ usage, deps }: AccountStore, recipient: Recipient): Promise<void> {
  const { messagesPerDay, megabytesPerDay, strangerMessagesPerDay } = deps.config
  const today = usage.today()
  const { messages, bytes } = today instanceof Promise ? await today : today
  if (isReached(messages, messagesPerDay)) {
    const what = `This account has sent ${count(messagesPerDay, 'message')} today, which is all that it may send a day.`
    throw exceeded('messages_per_day', messagesPerDay, secondsToTomorrow(deps.now()), what)
  }
  if (isReached(bytes, megabytesPerDay * megabyte)) {
    const what = `The messages of this account took ${megabytesPerDay} MB today, which is all that they may take a day.`
    throw exceeded('megabytes_per_day', megabytesPerDay, secondsToTomorrow(deps.now()), what)
  }
  if (!recipient.inbox) return

  const { agentId, home } = recipient.inbox
  const isStranger = home !== undefined
  if (isStranger && isReached(usage.toStranger(agentId), strangerMessagesPerDay)) {
    const sent = count(strangerMessagesPerDay, 'message')
    const what =
      `This account has sent ${sent} to ${recipient.label} today, which is all that an agent of another account takes a day.`
    throw exceeded('stranger_messages_per_day', strangerMessagesPerDay, secondsToTomorrow(deps.now()), what)
  }
  const maxUnread = isStranger ? deps.config.strangerUnreadPerInbox : deps.config.unreadPerInbox
  if (isReached(usage.unread(agentId), maxUnread)) {
    const full = isStranger ? 'full for other accounts' : 'full'
    const what = `The inbox of ${recipient.label} is ${full}: it has ${count(maxUnread, 'unread message')}.`
    throw exceeded('unread_per_inbox', maxUnread, fullInboxRetrySeconds, what)
  }
}

/** Count a message after its commit. */
export function countSent(
  { usage }: AccountStore,
  { inbox }: Recipient,
  { body, a2a, largeParts }: NewMessage,
  { deliveries, receipt }: { deliveries: number; receipt: SendReceipt },
): void {
  const texts = Buffer.byteLength(body) + Buffer.byteLength(a2a ?? '') + Buffer.byteLength(largeParts ?? '')
  const bytes = texts + rowBytes * (1 + deliveries)
  usage.count({ inbox, bytes, unread: receipt.recipientUnread })
}

/** Count a chunk of an artifact after its commit: to an account it costs as much as a message. */
export function countChunk({ usage }: AccountStore, { inbox }: Recipient, parts: string): void {
  usage.count({ inbox, bytes: Buffer.byteLength(parts) + rowBytes })
}

/** Whether a quota is used up; 0 stands for none. */
function isReached(used: number, quota: number): boolean {
  return quota > 0 && used >= quota
}

function exceeded(quota: string, limit: number, retryAfterSeconds: number, what: string): GridError {
  const wait = retryAfterSeconds <= 2 * fullInboxRetrySeconds
    ? `${retryAfterSeconds} seconds`
    : `${Math.ceil(retryAfterSeconds * second / minute)} minutes`
  const windowSeconds = quota.endsWith('_per_day') ? day / second : undefined
  const reached = { name: quota.replaceAll('_', '-'), quota: limit, windowSeconds }
  return limitReached('quota_exceeded', `${what} Try again in ${wait}.`, reached, retryAfterSeconds, {
    info: { quota, limit: String(limit) },
  })
}

function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}

/** The day of a quota ends at midnight in UTC. */
function secondsToTomorrow(now: number): number {
  return Math.ceil((day - now % day) / second)
}
