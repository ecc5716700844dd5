/** The list of conversations, as the calling user may see it. See docs/security.md, "Who reads messages". */
import type { AccountStore } from '../../store/account.ts'
import { isReadBySwitch, mayRead, type Reader, readerOf } from './may-read.ts'
import { findMessages, receiptsOf } from './messages.ts'
import { placeOfMessage, placeOfThread } from './places.ts'
import { recordReading } from './readings.ts'
import { listThreads, type Thread } from './threads.ts'

/** Which conversations a list has: those of the reader, all, channels, or those whose newest message is unread. */
export type Show = (typeof shows)[number]

export const shows = ['you', 'all', 'channels', 'waiting'] as const

export interface ConversationList {
  reader: Reader
  /** The newest first, at most 20. Without a preview if the reader may not read the newest message. */
  threads: Thread[]
  /** Where the next page begins: pass it as `before`. Undefined on the last one. */
  next?: number
  /** Unread messages to the reader; 100 stands for 100 or more. */
  unread: number
}

/** A page of the list. Fails as `readerOf` and `recordReading` do. */
export async function listConversations(
  account: AccountStore,
  { show, before, requestId }: { show: Show; before?: number; requestId: string | null },
): Promise<ConversationList> {
  const reader = await readerOf(account)
  const { seat, userId } = reader
  const unread = seat ? await account.read.inbox.unread(seat.agentId) : 0
  if (show === 'you' && !seat) return { reader, threads: [], unread }
  const page = await listThreads(account, {
    ...{ userId, before },
    ...(show === 'you' && { agentId: seat!.agentId }),
    channels: show === 'channels',
    waiting: show === 'waiting',
  })
  const places = await placesOfNewest(account, reader, page.threads)
  const threads = page.threads.map((thread) => {
    return mayRead(reader, places.get(thread.id)!, thread.lastAt) ? thread : { ...thread, preview: null }
  })
  const hasOthers = threads.some(({ id, preview, lastAt }) => {
    return preview !== null && isReadBySwitch(reader, places.get(id)!, lastAt)
  })
  if (hasOthers) await recordReading(account, { list: show }, requestId)
  return { reader, threads, unread, next: page.next }
}

/**
 * The place of the newest message of each thread. A conversation with an id may have several agents: then the message
 * itself says whether it is to or from the reader.
 */
async function placesOfNewest(account: AccountStore, reader: Reader, threads: Thread[]) {
  const places = new Map(threads.map((thread) => [thread.id, placeOfThread(reader, thread)]))
  const unclear = threads.filter(({ kind }) => kind === 'conversation' && reader.seat)
  if (unclear.length === 0) return places
  const seqs = unclear.map(({ lastSeq }) => lastSeq)
  const [messages, receipts] = await Promise.all([findMessages(account, seqs), receiptsOf(account, seqs)])
  for (const message of messages) {
    places.set(message.threadId, placeOfMessage(reader, message, { channel: null }, receipts.get(message.seq)))
  }
  return places
}
