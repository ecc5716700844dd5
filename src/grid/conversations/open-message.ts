/**
 * Single messages as the calling user may see them: one with all that became of it, its parts, and the chain that it
 * belongs to. See docs/security.md, "Who reads messages".
 */
import { GridError } from '../../errors.ts'
import { isId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PartContent } from '../messaging/parts.ts'
import { isReadBySwitch, mayRead, type Reader, readerOf } from './may-read.ts'
import {
  type ChainMessage,
  findMessage,
  readChain,
  type Receipt,
  receiptsOf,
  receiptsOfPost,
  type ThreadMessage,
} from './messages.ts'
import { findListedPart } from './message-parts.ts'
import { type OpenMessage, readable, recordIfOthers, recordReadingOf, whoMayRead } from './open.ts'
import { placeOfMessage } from './places.ts'
import { findThread, type Thread } from './threads.ts'

export interface OpenedMessage {
  reader: Reader
  thread: Thread
  message: OpenMessage
  /** What became of it at each recipient, 50 at a time. */
  receipts: Receipt[]
}

/**
 * One message, named by its `seq` or its id. `after`: where the page of recipients of a post begins.
 * Fails with `message_not_found`, with `not_allowed` if the reader may not read it, or as `openConversation` does.
 */
export async function openMessage(
  account: AccountStore,
  ref: string,
  { requestId, after }: { requestId: string | null; after?: string },
): Promise<OpenedMessage> {
  const reader = await readerOf(account)
  const found = await messageNamed(account, ref)
  const thread = found && await findThread(account, found.threadId)
  if (!found || !thread) throw unknownMessage()
  const [message] = await readable(account, reader, thread, [found], null)
  if (!message) throw new GridError('not_allowed', whoMayRead(reader, thread.kind))
  await recordIfOthers(account, thread, [message], requestId)
  const { recipient } = message.receipts ?? { recipient: undefined }
  if (recipient) return { reader, thread, message, receipts: [recipient] }
  return { reader, thread, message, receipts: await receiptsOfPost(account, message.seq, after) }
}

/**
 * A part of a message, by the key of `listParts`. Fails with `part_not_found`, or as `openMessage` does.
 */
export async function openPart(
  account: AccountStore,
  ref: string,
  key: string,
  requestId: string | null,
): Promise<PartContent> {
  const { message } = await openMessage(account, ref, { requestId })
  const { id, isForeign, fromAgentId, receipts } = message
  const agentId = isForeign ? receipts?.recipient?.agentId ?? '' : fromAgentId
  return await findListedPart(account, { id, agentId, isSent: !isForeign }, key)
}

/** A message by its `seq`, which is short, or by its id. */
async function messageNamed(account: AccountStore, ref: string): Promise<ThreadMessage | undefined> {
  if (isId(ref)) return await findMessage(account, { id: ref })
  return /^[1-9]\d{0,14}$/.test(ref) ? await findMessage(account, { seq: Number(ref) }) : undefined
}

function unknownMessage(): GridError {
  return new GridError('message_not_found', 'This message does not exist, or it is gone.')
}

/** A message of a chain in the order of the tree. */
export interface OpenChainMessage extends ThreadMessage {
  /** How many answers led to it within the chain. */
  depth: number
  /** False: the reader sees only that it is there; `body` and `a2a` are empty. */
  isReadable: boolean
}

export interface OpenedChain {
  reader: Reader
  root: number
  /** At most 100. */
  messages: OpenChainMessage[]
  /** In the whole chain. */
  total: number
}

/** How many messages of a chain one page has. */
export const chainPageSize = 100

/**
 * All messages that began with the same one, over all conversations, each before its answers. `offset`: how many are on
 * the pages before. Fails as `openMessage` does.
 */
export async function openChain(
  account: AccountStore,
  ref: string,
  { requestId, offset = 0 }: { requestId: string | null; offset?: number },
): Promise<OpenedChain> {
  const { reader, message } = await openMessage(account, ref, { requestId })
  const root = await readChain(account, message.rootSeq)
  if (!root) throw unknownMessage()
  const all = inOrder(root)
  const page = all.slice(offset, offset + chainPageSize)
  const threads = await threadsOf(account, page)
  const receipts = await receiptsOf(account, page.map(({ seq }) => seq))
  const ofOthers = new Set<Thread>()
  const messages = page.map((one): OpenChainMessage => {
    const thread = threads.get(one.threadId)
    const place = thread && placeOfMessage(reader, one, thread, receipts.get(one.seq))
    if (!place || !mayRead(reader, place, one.createdAt)) return { ...one, isReadable: false, body: '', a2a: null }
    if (isReadBySwitch(reader, place, one.createdAt)) ofOthers.add(thread)
    return { ...one, isReadable: true }
  })
  for (const thread of ofOthers) await recordReadingOf(account, thread, requestId)
  return { reader, root: root.seq, messages, total: all.length }
}

/** A tree as a list: each message before its replies. */
function inOrder(root: ChainMessage): (ThreadMessage & { depth: number })[] {
  const list: (ThreadMessage & { depth: number })[] = []
  const open = [{ message: root, depth: 0 }]
  while (open.length > 0) {
    const { message: { replies, ...message }, depth } = open.pop()!
    list.push({ ...message, depth })
    for (const reply of replies.toReversed()) open.push({ message: reply, depth: depth + 1 })
  }
  return list
}

async function threadsOf(account: AccountStore, messages: ThreadMessage[]): Promise<Map<number, Thread>> {
  const ids = [...new Set(messages.map(({ threadId }) => threadId))]
  const found = await Promise.all(ids.map((id) => findThread(account, id)))
  return new Map(found.flatMap((thread) => thread ? [[thread.id, thread]] : []))
}
