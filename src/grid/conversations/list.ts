/** The list of conversations, as the calling user may see it. See docs/people.md, "People who read". */
import { callingUser } from '../../auth/actor.ts'
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
import { findMessages, newestOf, receiptsOf } from './messages.ts'
import { type OpenMessage, readable } from './open.ts'
import { listThreads, type Thread } from './threads.ts'

/**
 * Which conversations a list shows: the reader's own, all, channels, or those whose newest message is unread. Members
 * see no conversations between others, because they could see only counts there.
 */
export type Show = (typeof shows)[number]

const shows = ['you', 'all', 'channels', 'waiting'] as const

export interface ConversationList {
  reader: Reader
  /** Newest first, at most 20. The preview is omitted if the reader may not read the newest message. */
  threads: Thread[]
  /** The value of `before` for the next page. Undefined on the last page. */
  next?: number
  unread: number
}

interface ListOptions {
  show: Show
  /** A part of the name of an agent or channel. */
  search?: string
  before?: number
  requestId: string | null
}

/** Returns a page of the conversations that the reader may see. */
export async function listConversations(account: AccountStore, options: ListOptions): Promise<ConversationList> {
  return await (await beginList(account, options)).list
}

/**
 * Like `listConversations`, but resolves as soon as the first conversation is known, while the rest is still looked up.
 * For a member, the list may omit that conversation.
 */
export async function beginList(
  account: AccountStore,
  { show: chosen, search, before, requestId }: ListOptions,
): Promise<{ reader: Reader; first: Thread | undefined; list: Promise<ConversationList> }> {
  const { userId, role } = callingUser(account.actor)
  const show = role === 'member' && chosen === 'all' ? 'you' : chosen
  const [reader, page] = await Promise.all([
    readerOf(account),
    listThreads(account, {
      userId,
      before,
      names: search?.toLowerCase().split(/\s+/).map((name) => name.replace(/^[@#]/, '')).filter((name) => name !== ''),
      isOfUser: show === 'you' || (role === 'member' && show === 'channels'),
      channels: show === 'channels',
      waiting: show === 'waiting',
    }),
  ])
  const isEmpty = (show === 'you' || reader.role === 'member') && !reader.personAlias
  const { threads, next } = isEmpty ? { threads: [] } : page
  return { reader, first: threads[0], list: listOf(account, reader, { threads, next, show, requestId }) }
}

async function listOf(
  account: AccountStore,
  reader: Reader,
  { threads: found, next, show, requestId }: {
    threads: Thread[]
    next: number | undefined
    show: Show
    requestId: string | null
  },
): Promise<ConversationList> {
  const { personAlias, role } = reader
  const places = placesOfNewest(account, reader, found)
  const shown = places.then((places) => {
    const isReadable = (thread: Thread) => mayRead(reader, places.get(thread.id)!, thread.lastAt)
    const threads = found.map((thread) => isReadable(thread) ? thread : { ...thread, preview: null })
    const hasOthers = threads.some(({ id, preview, lastAt }) => {
      return preview !== null && isReadBySwitch(reader, places.get(id)!, lastAt)
    })
    return { threads: role === 'member' ? threads.filter(isReadable) : threads, hasOthers }
  })
  const [{ threads }, unread] = await Promise.all([
    shown,
    personAlias ? account.read.inbox.unread(personAlias.agentId) : 0,
    recordReading(account, { list: show }, requestId, shown.then(({ hasOthers }) => hasOthers)),
  ])
  return { reader, threads, unread, next }
}

/** Returns the place of each thread's newest message. In a conversation with an id, each message has its own place. */
export async function placesOfNewest(account: AccountStore, reader: Reader, threads: Thread[]) {
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
  /** The messages among the 10 newest that the reader may read, oldest first. */
  messages: AgentMessage[]
  hidden: number
  talks: Thread[]
}

/** Returns an agent's newest messages and its conversations. The agent is named by alias. Marks nothing as seen. */
export async function talkOfAgent(
  account: AccountStore,
  alias: string,
  { requestId }: { requestId: string | null },
): Promise<AgentTalk> {
  const { userId } = callingUser(account.actor)
  const [reader, { threads }] = await Promise.all([readerOf(account), listThreads(account, { alias, userId })])
  // Only the newest threads can contain the newest messages.
  const newest = new Map(threads.slice(0, maxMessages).map((thread) => [thread.id, thread]))
  const found = await newestOf(account, [...newest.keys()], maxMessages)
  const opened = Promise.all([...newest.values()].map(async (thread) => {
    const messages = found.filter(({ threadId }) => threadId === thread.id)
    return (await readable(account, reader, thread, messages, null)).map((message) => ({ ...message, thread }))
  })).then((each) => each.flat().sort((a, b) => a.seq - b.seq))
  const hasOthers = opened.then((messages) => messages.some(({ isMine }) => !isMine))
  const [messages] = await Promise.all([opened, recordReading(account, { agent: alias }, requestId, hasOthers)])
  return {
    reader,
    messages,
    hidden: found.length - messages.length,
    talks: threads.slice(0, maxTalks).map((thread) => ({ ...thread, preview: null })),
  }
}
