/** The list of conversations, as the calling user may see it. See docs/security.md, "People who read". */
import type { AccountStore } from '../../store/account.ts'
import {
  isReadBySwitch,
  mayRead,
  placeOfMessage,
  placeOfThread,
  type Reader,
  readerOf,
  recordReading,
} from './may-read.ts'
import { findMessages, receiptsOf } from './messages.ts'
import { type OpenMessage, readable } from './open.ts'
import { listThreads, type Thread } from './threads.ts'

/**
 * Which conversations a list has: those of the reader, all, channels, or those whose newest message is unread. Members
 * of the account see none of others, of which they could only read numbers.
 */
export type Show = (typeof shows)[number]

const shows = ['you', 'all', 'channels', 'waiting'] as const

export interface ConversationList {
  reader: Reader
  /** The newest first, at most 20. Without a preview if the reader may not read the newest message. */
  threads: Thread[]
  /** Where the next page begins: pass it as `before`. Undefined on the last one. */
  next?: number
  unread: number
}

/** The conversations of a reader, those with `search` in the name of an agent or channel. */
export async function listConversations(
  account: AccountStore,
  { show: chosen, search, before, requestId }: {
    show: Show
    search?: string
    before?: number
    requestId: string | null
  },
): Promise<ConversationList> {
  const reader = await readerOf(account)
  const readsOwn = reader.role === 'member'
  const show = readsOwn && chosen === 'all' ? 'you' : chosen
  const { personAlias, userId } = reader
  const unread = personAlias ? await account.read.inbox.unread(personAlias.agentId) : 0
  if ((show === 'you' || readsOwn) && !personAlias) return { reader, threads: [], unread }
  const page = await listThreads(account, {
    userId,
    before,
    name: search?.replace(/^[@#]/, '').toLowerCase(),
    ...((show === 'you' || (readsOwn && show === 'channels')) && { agentId: personAlias!.agentId }),
    channels: show === 'channels',
    waiting: show === 'waiting',
  })
  const places = await placesOfNewest(account, reader, page.threads)
  const isReadable = (thread: Thread) => mayRead(reader, places.get(thread.id)!, thread.lastAt)
  const threads = page.threads.map((thread) => isReadable(thread) ? thread : { ...thread, preview: null })
  const hasOthers = threads.some(({ id, preview, lastAt }) => {
    return preview !== null && isReadBySwitch(reader, places.get(id)!, lastAt)
  })
  if (hasOthers) await recordReading(account, { list: show }, requestId)
  return { reader, threads: readsOwn ? threads.filter(isReadable) : threads, unread, next: page.next }
}

/** The place of the newest message of each thread. With a conversation id, the message itself tells. */
async function placesOfNewest(account: AccountStore, reader: Reader, threads: Thread[]) {
  const places = new Map(threads.map((thread) => [thread.id, placeOfThread(reader, thread)]))
  const unclear = threads.filter(({ kind }) => kind === 'conversation' && reader.personAlias)
  if (unclear.length === 0) return places
  const seqs = unclear.map(({ lastSeq }) => lastSeq)
  const [messages, receipts] = await Promise.all([findMessages(account, seqs), receiptsOf(account, seqs)])
  for (const message of messages) {
    places.set(message.threadId, placeOfMessage(reader, message, { channel: null }, receipts.get(message.seq)))
  }
  return places
}

const maxMessages = 10
const maxTalks = 12

interface AgentMessage extends OpenMessage {
  thread: Thread
}

export interface AgentTalk {
  reader: Reader
  /** Those of its 10 newest messages that the reader may read, oldest first. */
  messages: AgentMessage[]
  hidden: number
  talks: Thread[]
}

/** The newest messages from or to an agent, and with whom it talks. It does not count as a look at them. */
export async function talkOfAgent(
  account: AccountStore,
  agent: { id: string; alias: string },
  { requestId }: { requestId: string | null },
): Promise<AgentTalk> {
  const reader = await readerOf(account)
  const { threads } = await listThreads(account, { agentId: agent.id, userId: reader.userId })
  // The newest messages are in the newest threads.
  const newest = new Map(threads.slice(0, maxMessages).map((thread) => [thread.id, thread]))
  const seqs = await Promise.all([...newest.keys()].map((id) => {
    return account.read.threadMessages.around(id, Number.MAX_SAFE_INTEGER, 0, maxMessages, 0)
  }))
  const found = await findMessages(account, seqs.flat().sort((a, b) => b - a).slice(0, maxMessages))
  const opened = await Promise.all([...newest.values()].map(async (thread) => {
    const messages = found.filter(({ threadId }) => threadId === thread.id)
    return (await readable(account, reader, thread, messages, null)).map((message) => ({ ...message, thread }))
  }))
  const messages = opened.flat().sort((a, b) => a.seq - b.seq)
  if (messages.some(({ isMine }) => !isMine)) await recordReading(account, { agent: agent.alias }, requestId)
  return {
    reader,
    messages,
    hidden: found.length - messages.length,
    talks: threads.slice(0, maxTalks).map((thread) => ({ ...thread, preview: null })),
  }
}
