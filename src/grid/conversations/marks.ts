/** Read marks of a person in a conversation. See docs/people.md, "People who write". */
import { callingUser, requirePermission } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { callingPersonAlias, findPersonAlias } from '../people/person-aliases.ts'
import { readThread } from './messages.ts'
import { findThread, setSeen, type Thread, unknownConversation } from './threads.ts'

type ReadMessages = { seqs: readonly number[] } | { upTo: number }

/** Marks messages to the calling user as read, and the conversation as seen up to the newest of them. */
export async function markConversationRead(
  account: AccountStore,
  threadId: number,
  which: ReadMessages,
): Promise<{ read: number }> {
  const { userId, thread } = await threadOfReader(account, threadId)
  const unread = await unreadIn(account, threadId)
  const isMeant = 'upTo' in which
    ? ({ seq }: { seq: number }) => seq <= which.upTo
    : ({ seq }: { seq: number }) => which.seqs.includes(seq)
  const ids = unread.filter(isMeant).map(({ id }) => id)
  let read = 0
  for (let n = 0; n < ids.length; n += maxInboxPage) {
    read += (await markRead(account, ids.slice(n, n + maxInboxPage))).read.length
  }
  const seen = Math.min('upTo' in which ? which.upTo : Math.max(0, ...which.seqs), thread.lastSeq)
  if (seen > thread.seenSeq) await setSeen(account, userId, threadId, seen)
  return { read }
}

/** Marks up to 50 messages to the calling user as unread again, starting at a `seq`. */
export async function markConversationUnread(
  account: AccountStore,
  threadId: number,
  from: number,
): Promise<{ unread: number }> {
  const { userId, thread } = await threadOfReader(account, threadId)
  const { messages } = await readThread(account, threadId, { after: from - 1 })
  const hasPersonAlias = messages.length > 0 && await findPersonAlias(account) !== undefined
  const unread = hasPersonAlias ? (await markUnread(account, messages.map(({ id }) => id))).unread.length : 0
  if (from <= thread.lastSeq) await setSeen(account, userId, threadId, Math.max(0, from - 1))
  return { unread }
}

/** Returns the oldest unread message to the calling user outside the conversation `except`, or else inside it. */
export async function nextUnread(
  account: AccountStore,
  except?: number,
): Promise<{ threadId: number; seq: number } | undefined> {
  const userId = callingReader(account)
  const found = (await account.read.threads.unreadOfPersonAlias(userId)).sort((a, b) => a.firstSeq - b.firstSeq)
  const next = found.find(({ threadId }) => threadId !== except) ?? found[0]
  return next && { threadId: next.threadId, seq: next.firstSeq }
}

async function unreadIn(account: AccountStore, threadId: number): Promise<{ id: string; seq: number }[]> {
  const personAlias = await findPersonAlias(account)
  return personAlias ? await account.read.threads.unreadInThread(threadId, personAlias.agentId) : []
}

async function threadOfReader(account: AccountStore, threadId: number): Promise<{ userId: string; thread: Thread }> {
  const userId = callingReader(account)
  const thread = await findThread(account, threadId, userId)
  if (!thread) throw unknownConversation()
  return { userId, thread }
}

function callingReader(account: AccountStore): string {
  const { userId } = callingUser(account.actor)
  requirePermission(account.actor, 'use')
  return userId
}

/** Maximum number of messages on a page and in a call of `markRead`. */
const maxInboxPage = 50
/** Marks messages to the calling user as read; their senders see it. Resolves to those that were unread. */
export async function markRead(account: AccountStore, messageIds: readonly string[]): Promise<{ read: string[] }> {
  const { agentId } = await callingPersonAlias(account)
  requireFew(messageIds)
  const [rows] = await account.write(account.change.inbox.markRead(agentId, messageIds, account.deps.now()))
  return { read: rows.map((row) => String(row.message_id)) }
}

export async function markUnread(account: AccountStore, messageIds: readonly string[]): Promise<{ unread: string[] }> {
  const { agentId } = await callingPersonAlias(account)
  requireFew(messageIds)
  const [rows] = await account.write([account.change.inbox.markUnread(agentId, messageIds)])
  return { unread: rows.map((row) => String(row.message_id)) }
}

function requireFew(messageIds: readonly string[]): void {
  if (messageIds.length <= maxInboxPage) return
  throw new GridError('invalid_input', `At most ${maxInboxPage} messages can be marked at a time.`)
}
