/**
 * The inbox of a person. Nothing leases its messages: they are read when the person says so, or has them in view. Reading
 * messages of others changes nothing for their recipients.
 */
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { asGridMessage, fitting, type GridMessage, rendered } from '../messaging/inbox-message.ts'
import { callingSeat } from '../people/seats.ts'

/** Most messages of one page, and of one call of `markRead`. */
export const maxInboxPage = 50
/** Longest text of one message in a page, in UTF-16 units. */
const maxPageChars = 80_000

/** A message to the calling user. */
export interface MyMessage extends GridMessage {
  /** Its place in the inbox: a larger one is newer. */
  seq: number
  isUnread: boolean
}

export interface MyInboxPage {
  /** The newest first. */
  messages: MyMessage[]
  /** Unread messages of the whole inbox; 100 stands for 100 or more. */
  unread: number
  /** Where the next page begins: pass it as `before`. Undefined on the last one. */
  before?: number
}

/**
 * A page of the messages to the calling user, also those of their channels, the newest first. `isUnread` leaves out what
 * was read. It changes nothing. Fails with `wrong_credential`, `not_allowed` or `alias_required`.
 */
export async function myInbox(
  account: AccountStore,
  { before = Number.MAX_SAFE_INTEGER, isUnread = false, limit = maxInboxPage }: {
    before?: number
    isUnread?: boolean
    limit?: number
  } = {},
): Promise<MyInboxPage> {
  const { agentId } = await callingSeat(account)
  const size = Math.max(1, Math.min(limit, maxInboxPage))
  const { inbox } = account.read
  // One more than asked for tells whether there is more.
  const found = await inbox.before(agentId, before, size + 1, isUnread)
  const page = fitting(found, { limit: size, maxChars: maxPageChars })
  const places = new Map(page.map(({ id, seq, state }) => [id, { seq, isUnread: state === 'unread' }]))
  const { messages } = rendered(page, (message) => {
    return asGridMessage(message, { maxChars: maxPageChars, introducesSender: false })
  })
  return {
    messages: messages.map((message) => ({ ...message, ...places.get(message.message_id)! })),
    unread: await inbox.unread(agentId),
    ...(found.length > page.length && { before: page.at(-1)!.seq }),
  }
}

/**
 * Mark messages to the calling user as read, as a read of an agent would: their senders see it. Those that are read
 * already, or are not to them, are left as they are. Resolves to the ids of those that were unread.
 * Fails with `wrong_credential`, `not_allowed`, `alias_required` or `invalid_input`.
 */
export async function markRead(account: AccountStore, messageIds: readonly string[]): Promise<{ read: string[] }> {
  const { agentId } = await callingSeat(account)
  requireFew(messageIds)
  const [rows] = await account.write([account.change.inbox.markRead(agentId, messageIds, account.deps.now())])
  return { read: rows.map((row) => String(row.message_id)) }
}

/**
 * Mark all messages to the calling user up to a place of their inbox as read: that of the newest one that they were
 * shown. Fails with `wrong_credential`, `not_allowed` or `alias_required`.
 */
export async function markAllRead(account: AccountStore, upTo: number): Promise<{ read: number }> {
  const { agentId } = await callingSeat(account)
  const [rows] = await account.write([account.change.inbox.markReadUpTo(agentId, upTo, account.deps.now())])
  return { read: rows.length }
}

/**
 * Mark messages that the calling user has read as unread again. Their senders see them as not read. Resolves to the ids
 * of those that were read. Fails with `wrong_credential`, `not_allowed`, `alias_required` or `invalid_input`.
 */
export async function markUnread(account: AccountStore, messageIds: readonly string[]): Promise<{ unread: string[] }> {
  const { agentId } = await callingSeat(account)
  requireFew(messageIds)
  const [rows] = await account.write([account.change.inbox.markUnread(agentId, messageIds)])
  return { unread: rows.map((row) => String(row.message_id)) }
}

function requireFew(messageIds: readonly string[]): void {
  if (messageIds.length <= maxInboxPage) return
  throw new GridError('invalid_input', `At most ${maxInboxPage} messages can be marked at a time.`)
}
