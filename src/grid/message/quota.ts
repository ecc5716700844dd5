/** Quotas: what an account may send per day, and how full an inbox may be. See docs/operating/accounts.md, "Quotas". */
import { limitsOf } from '../limits.ts'
import { Buffer } from 'node:buffer'
import { GridError, limitReached } from '../../errors.ts'
import { day, hour, minute, second, startOfDay } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { InboxAddress, NewMessage } from '../../store/account/new-message.ts'
import type { NewChunk } from '../../store/account/task-changes.ts'
import type { Quotas } from '../../store/account/usage.ts'
import type { Statement } from '../../store/sql.ts'
import type { Recipient } from './outgoing-message.ts'

/** Approximate bytes of a message or delivery row besides its text, including index entries. */
const rowBytes = 500
export const megabyte = 1_000_000
/** The used share of a quota at which Attention begins to show it. */
export const nearlyUsed = 0.8
/** Retry time for a full inbox. Only its agent can empty it. */
const fullInboxRetrySeconds = minute / second

type Target = Pick<Recipient, 'label' | 'inbox'>

/** Returns the quotas that the unit of a send checks. */
export function quotasOf({ deps: { config, now } }: AccountStore, inbox?: InboxAddress): Quotas {
  const isExternal = inbox?.home !== undefined
  const maxUnread = !inbox ? 0 : isExternal ? config.externalUnreadPerInbox : config.unreadPerInbox
  return {
    day: startOfDay(now()),
    receiver: isExternal ? inbox.agentId : null,
    messagesPerDay: config.messagesPerDay,
    bytesPerDay: config.megabytesPerDay * megabyte,
    externalMessagesPerDay: config.externalMessagesPerDay,
    maxUnread,
    nearlyFull: Math.ceil(nearlyUsed * maxUnread),
  }
}

export async function refuseBeyondQuotas(account: AccountStore, { inbox, label }: Target): Promise<void> {
  const { deps: { now }, read } = account
  const quotas = { ...quotasOf(account, inbox), ...await limitsOf(account) }
  const { account: { messages, bytes }, toExternal } = await read.usage.of(quotas.day, quotas.receiver)
  if (isReached(messages, quotas.messagesPerDay)) {
    const { messagesPerDay } = quotas
    const what = `This account has sent ${count(messagesPerDay, 'message')} today, its daily limit.`
    throw exceeded('messages_per_day', messagesPerDay, secondsToTomorrow(now()), what)
  }
  const { megabytesPerDay } = quotas
  if (isReached(bytes, megabytesPerDay * megabyte)) {
    const what = `The messages of this account took ${megabytesPerDay} MB today, the daily limit.`
    throw exceeded('megabytes_per_day', megabytesPerDay, secondsToTomorrow(now()), what)
  }
  if (isReached(toExternal, quotas.externalMessagesPerDay)) {
    const { externalMessagesPerDay } = quotas
    const sent = count(externalMessagesPerDay, 'message')
    const what = `This account has sent ${sent} to ${label} today, the daily limit for an agent of another account.`
    throw exceeded('external_messages_per_day', externalMessagesPerDay, secondsToTomorrow(now()), what)
  }
  await refuseFullInbox(account, { inbox, label })
}

/** Fails with `quota_exceeded`, and counts the refusal so that the recipient's people see it. */
export async function refuseFullInbox(account: AccountStore, { inbox, label }: Target): Promise<void> {
  const { maxUnread, day } = quotasOf(account, inbox)
  if (inbox && isReached(await account.read.usage.unread(inbox), maxUnread)) {
    account.writeLater([account.change.usage.countRefused(inbox, day)])
    const full = inbox.home === undefined ? 'full' : 'full for other accounts'
    const what = `The inbox of ${label} is ${full}: it has ${count(maxUnread, 'unread message')}.`
    throw exceeded('unread_per_inbox', maxUnread, fullInboxRetrySeconds, what)
  }
}

/** Returns inboxes of the account that are nearly full, or refuse messages of other accounts, the fullest first. */
export async function fullInboxes(account: AccountStore) {
  const { externalUnreadPerInbox: fullForOthers, unreadPerInbox: max } = account.deps.config
  if (max === 0) return []
  const nearlyFull = Math.ceil(nearlyUsed * max)
  return await account.read.attention.full({ max, nearlyFull, fullForOthers, day: startOfDay(account.deps.now()) })
}

/** Counts a message, right after the statement that stores it. `deliveries`: the number of inboxes. */
export function countMessage(
  account: AccountStore,
  { inbox }: Target,
  { body, a2a, largeParts }: Pick<NewMessage, 'body' | 'a2a' | 'largeParts'>,
  deliveries: number,
): Statement[] {
  const texts = Buffer.byteLength(body) + Buffer.byteLength(a2a ?? '') + Buffer.byteLength(largeParts ?? '')
  return account.change.usage.count(quotasOf(account, inbox), texts + rowBytes * (1 + deliveries))
}

/** Counts a chunk of an artifact like a message, right after the statement that stores it. */
export function countChunk(account: AccountStore, { inbox }: Target, chunk: NewChunk): Statement[] {
  const texts = Buffer.byteLength(JSON.stringify(chunk))
  return account.change.usage.count(quotasOf(account, inbox), texts + rowBytes)
}

function isReached(used: number, quota: number): boolean {
  return quota > 0 && used >= quota
}

export function exceeded(quota: string, limit: number, retryAfterSeconds: number, what: string): GridError {
  const wait = retryAfterSeconds <= 2 * fullInboxRetrySeconds
    ? `${retryAfterSeconds} seconds`
    : `${Math.ceil(retryAfterSeconds * second / minute)} minutes`
  const windowSeconds = quota.endsWith('_per_day')
    ? day / second
    : quota.endsWith('_per_hour')
    ? hour / second
    : undefined
  const reached = { name: quota.replaceAll('_', '-'), quota: limit, windowSeconds }
  return limitReached('quota_exceeded', `${what} Try again in ${wait}.`, reached, retryAfterSeconds, {
    info: { quota, limit: String(limit) },
  })
}

function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}

function secondsToTomorrow(now: number): number {
  return Math.ceil((day - now % day) / second)
}
