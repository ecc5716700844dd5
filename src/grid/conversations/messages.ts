/** Pages of a thread, message states, and chains of replies. Nothing here decides who may read. */
import { Buffer } from 'node:buffer'
import { readingUser } from '../../auth/actor.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PlacedMessage, Receipt } from '../../store/account/thread-messages.ts'

/** A message in a thread. Messages from other accounts and to the reader's alias are shown in their delivered form. */
export interface ThreadMessage
  extends Omit<PlacedMessage, 'isForeign' | 'isReceived' | 'flagged' | 'sanitized' | 'edited'> {
  isForeign: boolean
  isReceived: boolean
  flagged: boolean
  sanitized: boolean
  /** Whether the person who approved the message changed its text. */
  edited: boolean
}

/**
 * The anchor of a page. `at` is a time; the others are the `seq` of a message, which `before` and `after` exclude.
 * `most` limits the number of messages.
 */
export type ThreadPosition =
  | { newest: true; most?: number }
  | { before: number }
  | { after: number }
  | { at: number }
  | { around: number }

export interface ThreadPage {
  /** Oldest first, at most 50. Long messages reduce the number. */
  messages: ThreadMessage[]
  hasOlder: boolean
  hasNewer: boolean
}

export interface Receipts {
  /** The recipient of a direct message; null for a post. */
  recipient: Receipt | null
  recipients: number
  /** The number of recipients that have leased or read the message. */
  read: number
  unread: number
  parked: number
  expired: number
  retracted: number
}

export interface ChainMessage extends ThreadMessage {
  replies: ChainMessage[]
}

const pageSize = 50
/** Limits of a page: the UTF-16 units shown of each text, and the approximate bytes of HTML in total. */
export const maxShown = 1_200
const maxPageBytes = 60_000
/** Bytes of a message without its text: times, links and names. */
const messageBytes = 550
const maxChain = 1_000

/** Returns a page of a thread. `since` excludes earlier messages. The page of an unknown thread is empty. */
export async function readThread(
  account: AccountStore,
  id: number,
  position: ThreadPosition,
  since = 0,
): Promise<ThreadPage> {
  const { answered: _, ...page } = await readPage(account, id, position, firstSince(account, id, since))
  return page
}

/** Returns the `seq` of a thread's first message since a time; null if it has none. */
export async function firstSince(account: AccountStore, id: number, since: number): Promise<number | null> {
  return since > 0 ? await account.read.threadMessages.firstSince(id, since) : 0
}

/**
 * Returns a page of a thread, without messages before `first`, and the messages that the page answers. The page is read
 * while `first` is looked up. A null `first` gives an empty page.
 */
export async function readPage(
  account: AccountStore,
  id: number,
  position: ThreadPosition,
  first: Awaitable<number | null>,
): Promise<ThreadPage & { answered: ThreadMessage[] }> {
  const nothing = { messages: [], hasOlder: false, hasNewer: false, answered: [] }
  const [place, from] = await Promise.all([around(account, id, position), first])
  if (from === null) return nothing
  const { anchor, older, newer } = place
  const isAhead = newer > 0 && from > anchor
  const found = isAhead ? await messagesAround(account, id, place, from) : place.found
  // One extra row in each direction shows whether there is more. The other rows are messages that the page answers.
  const near = found.filter(({ seq }) => seq >= from)
  const [before, after] = [
    near.filter(({ seq }) => seq < anchor).slice(-older - 1),
    near.filter(({ seq }) => seq >= anchor),
  ]
  // The thread has no messages since that time, so the page shows its last messages.
  if ('at' in position && after.length === 0) return await readPage(account, id, { newest: true }, from)
  const messages = [...older > 0 ? before.slice(-older) : [], ...after.slice(0, newer)]
  const kept = withinBytes(messages, anchor)
  return {
    messages: kept.map(shown),
    hasOlder: before.length > older || (kept.length > 0 && kept[0] !== messages[0]),
    hasNewer: after.length > newer || (kept.length > 0 && kept.at(-1) !== messages.at(-1)),
    answered: found.filter((message) => !kept.includes(message)).map(shown),
  }
}

async function around(account: AccountStore, id: number, position: ThreadPosition) {
  const place = await placeOf(account, id, position)
  return { ...place, found: await messagesAround(account, id, place, 0) }
}

async function messagesAround(
  account: AccountStore,
  id: number,
  { anchor, older, newer }: { anchor: number; older: number; newer: number },
  from: number,
): Promise<PlacedMessage[]> {
  const user = readingUser(account.actor)
  return await account.read.threadMessages.around(id, { anchor, from, older: older + 1, newer: newer + 1, user })
}

/** Returns the messages around the anchor that fit into the page's byte limit, at least one. */
function withinBytes(messages: PlacedMessage[], anchor: number): PlacedMessage[] {
  const first = messages.findIndex(({ seq }) => seq >= anchor)
  let [from, to] = first < 0 ? [messages.length, messages.length] : [first, first]
  for (let left = maxPageBytes; from > 0 || to < messages.length;) {
    // Adds older and newer messages in turn, so that each message has context.
    const isNext = to < messages.length && (from === 0 || to - first <= first - from)
    left -= messageBytes + Buffer.byteLength(messages[isNext ? to : from - 1].body.slice(0, maxShown))
    if (left < 0 && to > from) break
    if (isNext) to++
    else from--
  }
  return messages.slice(from, to)
}

async function placeOf(account: AccountStore, id: number, position: ThreadPosition) {
  if ('newest' in position) return { anchor: Number.MAX_SAFE_INTEGER, older: position.most ?? pageSize, newer: 0 }
  if ('before' in position) return { anchor: position.before, older: pageSize, newer: 0 }
  if ('after' in position) return { anchor: position.after + 1, older: 0, newer: pageSize }
  if ('around' in position) return { anchor: position.around, older: pageSize / 2, newer: pageSize / 2 }
  const anchor = await account.read.threadMessages.firstSince(id, position.at) ?? Number.MAX_SAFE_INTEGER
  return { anchor, older: 0, newer: pageSize }
}

/** Finds a message and its thread in this account, by `seq` or id; undefined if it has no place there (yet). */
export async function findMessage(
  account: AccountStore,
  message: { seq: number } | { id: string },
): Promise<ThreadMessage | undefined> {
  const [found] = 'seq' in message
    ? await bySeqs(account, [message.seq])
    : await account.read.threadMessages.byIds([message.id], readingUser(account.actor))
  return found && shown(found)
}

export async function findMessages(account: AccountStore, seqs: number[]): Promise<ThreadMessage[]> {
  return (await bySeqs(account, seqs)).map(shown)
}

/** Returns the newest messages in some threads, oldest first. */
export async function newestOf(account: AccountStore, threads: number[], limit: number): Promise<ThreadMessage[]> {
  return (await account.read.threadMessages.newestOf(threads, limit, readingUser(account.actor))).map(shown)
}

function bySeqs(account: AccountStore, seqs: number[]): Promise<PlacedMessage[]> {
  return account.read.threadMessages.bySeqs(seqs, readingUser(account.actor))
}

/** Returns the states of messages in threads of this account, by their `seq`; unknown messages are absent. */
export async function receiptsOf(account: AccountStore, seqs: number[]): Promise<Map<number, Receipts>> {
  const { threadMessages } = account.read
  const [direct, posts] = await Promise.all([threadMessages.direct(seqs), threadMessages.posts(seqs)])
  const found = new Map<number, Receipts>()
  for (const recipient of direct) {
    const { state } = recipient
    found.set(recipient.seq, {
      recipient,
      recipients: 1,
      read: state === 'read' || state === 'leased' ? 1 : 0,
      unread: state === 'unread' ? 1 : 0,
      parked: state === 'parked' ? 1 : 0,
      expired: state === 'expired' ? 1 : 0,
      retracted: state === 'retracted' ? 1 : 0,
    })
  }
  for (const { seq, recipients, ...unread } of posts) {
    const read = recipients - unread.unread - unread.parked - unread.expired - unread.retracted
    found.set(seq, { recipient: null, recipients, read, ...unread })
  }
  return found
}

/**
 * Returns the chain of a message as a tree from its root, at most 1,001 messages. Replies to removed messages are
 * attached to the root.
 */
export async function readChain(account: AccountStore, seq: number, since = 0): Promise<ChainMessage | undefined> {
  const found = await account.read.threadMessages.chain(seq, maxChain, readingUser(account.actor))
  const messages = found.filter(({ createdAt }) => createdAt >= since)
  const [root, ...others] = messages.map((message): ChainMessage => ({ ...shown(message), replies: [] }))
  if (!root) return undefined
  const byId = new Map([[root.id, root]])
  for (const message of others) {
    const parent = message.replyToMessageId === null ? undefined : byId.get(message.replyToMessageId)
    ;(parent ?? root).replies.push(message)
    byId.set(message.id, message)
  }
  return root
}

function shown({ isForeign, isReceived, flagged, sanitized, edited, ...message }: PlacedMessage): ThreadMessage {
  const is = (flag: number) => flag === 1
  return {
    ...message,
    isForeign: is(isForeign),
    isReceived: is(isReceived),
    flagged: is(flagged),
    sanitized: is(sanitized),
    edited: is(edited),
  }
}
