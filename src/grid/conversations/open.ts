/** Conversations, limited to what the caller may read. See docs/people.md, "People who read". */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { Awaitable } from '../../lib/awaitable.ts'
import { digestOf } from '../../lib/digest.ts'
import type { AccountStore } from '../../store/account.ts'
import type { TaskStep } from '../../store/account/seen-tasks.ts'
import type { TaskState } from '../tasks/task.ts'
import type { RefusedSend } from '../../store/account/verdicts.ts'
import { type Choices, choicesIn } from './choices.ts'
import {
  isReadBySwitch,
  mayRead,
  placeOf,
  placeOfMessage,
  placeOfThread,
  readableFrom,
  type Reader,
  readerOf,
  recordReading,
} from './may-read.ts'
import {
  firstSince,
  readPage,
  type Receipts,
  receiptsOf,
  type ThreadMessage,
  type ThreadPage,
  type ThreadPosition,
} from './messages.ts'
import { findThread, setSeen, type Thread, type ThreadKind, unknownConversation } from './threads.ts'

export interface OpenMessage extends ThreadMessage {
  receipts: Receipts | undefined
  /** Whether the message is from or to the reader, or was posted to a channel after the reader joined it. */
  isMine: boolean
  isUnread: boolean
  /** Set if a guardrail let the message pass without a check. `only` means that no other guardrail objected. */
  unchecked?: { only: boolean }
  /** The message's task. `isFirst` means that the message began the task. */
  task?: { state: TaskState; isFirst: boolean; steps: TaskStep[] }
  /** Choices that the sender offers a person. */
  choices?: Choices
}

export interface OpenConversation {
  reader: Reader
  thread: Thread
  /** The start of the readable part, in milliseconds since the epoch: 0 for all. Undefined: counts only. */
  since: number | undefined
  messages: OpenMessage[]
  /** Sends blocked by guardrails within the time of the page, oldest first. */
  refused: RefusedSend[]
  /** Messages answered on this page, by `id`: readable, in this conversation, and not directly before the answer. */
  quoted: Map<string, OpenMessage>
  /** Anchors of the previous and next page; undefined on the first and the last page. */
  older?: number
  newer?: number
  /** The number of messages between others that this page omits. */
  hidden: number
  /** The `seq` of the last message that the user has now seen. */
  seen: number
  /** The `seq` of the first unread message to the reader, or else of the first unseen one; null if there is none. */
  firstNew: number | null
}

/** A conversation and who reads it. */
export interface Place {
  reader: Reader
  thread: Thread
}

/** Finds a conversation and its reader. Fails with `conversation_not_found`. */
export async function placeOfConversation(account: AccountStore, id: number): Promise<Place> {
  const { userId } = callingUser(account.actor)
  const [reader, thread] = await Promise.all([readerOf(account), findThread(account, id, userId)])
  if (!thread) throw unknownConversation()
  return { reader, thread }
}

interface Opening {
  requestId: string | null
  isGlance?: boolean
  /** The result of a lookup that has already begun. */
  place?: Awaitable<Place>
}

/**
 * Returns a page of a conversation. A page with the newest messages marks the conversation as seen, unless `isGlance`
 * is set. Messages and permission are read at the same time. Without permission, no message is returned.
 */
export async function openConversation(
  account: AccountStore,
  id: number,
  position: ThreadPosition,
  { requestId, isGlance = false, place = placeOfConversation(account, id) }: Opening,
): Promise<OpenConversation> {
  const access = accessTo(account, id, place)
  const [{ reader, thread, since }, page] = await Promise.all([
    access,
    readPage(account, id, position, access.then(({ first }) => first)),
  ])
  const firstUnread = reader.personAlias ? thread.firstUnread : null
  const firstNew = firstUnread ?? firstUnseen(reader, thread, page)
  const shown = Promise.all([
    readable(account, reader, thread, page.messages, firstUnread),
    readable(account, reader, thread, page.answered, null),
  ]).then(([messages, answered]) => ({ messages, quoted: quotedBy(messages, answered) }))
  const [{ messages, quoted }, refused] = await Promise.all([
    shown,
    since === undefined ? [] : refusedSends(account, reader, thread, page, since),
    recordIfOthers(account, thread, shown.then(({ messages, quoted }) => [...messages, ...quoted.values()]), requestId),
  ])
  const seen = isGlance || since === undefined ? thread.seenSeq : await markSeen(account, reader, thread, page)
  return {
    reader,
    thread,
    since,
    messages,
    refused,
    quoted,
    seen,
    firstNew,
    ...(page.hasOlder && { older: page.messages[0].seq }),
    ...(page.hasNewer && { newer: page.messages.at(-1)!.seq }),
    hidden: page.messages.length - messages.length,
  }
}

/**
 * Returns the `seq` of the first unseen message by others. If the page does not contain all unseen messages, returns
 * the `seq` after the last seen one. Null if there is none, or if the user has seen no message yet.
 */
function firstUnseen({ personAlias }: Reader, { seenSeq, lastSeq }: Thread, page: ThreadPage): number | null {
  if (seenSeq === 0 || seenSeq >= lastSeq) return null
  if (page.hasNewer || (page.hasOlder && page.messages[0].seq > seenSeq)) return seenSeq + 1
  return page.messages.find((one) => one.seq > seenSeq && one.fromAgentId !== personAlias?.agentId)?.seq ?? null
}

/**
 * Yields all pages of a conversation, oldest first. Each page is read on demand, and its reading is recorded. Fails
 * with `conversation_not_found`, and `not_allowed` if the user sees only counts.
 */
export async function* wholeConversation(
  account: AccountStore,
  id: number,
  requestId: string | null,
): AsyncGenerator<OpenConversation> {
  let end = Number.MAX_SAFE_INTEGER
  for (let after: number | undefined = 0; after !== undefined && after < end;) {
    const page = await openConversation(account, id, { after }, { requestId, isGlance: true })
    if (page.since === undefined) throw new GridError('not_allowed', whoMayRead(page.reader, page.thread.kind))
    end = Math.min(end, page.thread.lastSeq)
    yield page
    after = page.newer
  }
}

const maxRefused = 50

/** Sends that a guardrail of the account blocked, if the reader may read messages of that time. */
async function refusedSends(
  account: AccountStore,
  reader: Reader,
  { channel, conversationId, agents }: Thread,
  { messages, hasOlder, hasNewer }: ThreadPage,
  since: number,
): Promise<RefusedSend[]> {
  const aliases = agents.map(({ alias }) => alias)
  const found = await account.read.verdicts.refused({
    recipients: channel ? [`#${channel.name}`] : aliases.map((alias) => `@${alias}`),
    senders: channel ? null : aliases,
    conversation: conversationId === null ? null : digestOf(conversationId),
    from: Math.max(since, hasOlder ? messages[0].createdAt : 0),
    until: hasNewer ? messages.at(-1)!.createdAt : Number.MAX_SAFE_INTEGER,
  }, maxRefused)
  const idOf = (alias: string) => agents.find((agent) => agent.alias === alias)?.id ?? null
  return found.reverse().filter(({ sender, recipient, createdAt }) => {
    const ends = channel ? [] : [idOf(sender), idOf(recipient.slice(1))]
    return mayRead(reader, placeOf(reader, { channelId: channel?.id ?? null, agents: ends }), createdAt)
  })
}

/** Returns the start of a thread's readable part, see `OpenConversation`, and the first message since then. */
async function accessTo(
  account: AccountStore,
  id: number,
  place: Awaitable<Place>,
): Promise<Place & { since: number | undefined; first: number | null }> {
  const { userId } = callingUser(account.actor)
  const [hasUser, of] = await Promise.all([account.read.threads.hasUser(id, userId), readableSince(account, place)])
  const { reader, thread } = of
  // In a conversation with an id, some messages may be the reader's own.
  const isPart = reader.personAlias !== undefined && thread.kind === 'conversation' && hasUser
  return isPart ? { reader, thread, since: 0, first: 0 } : of
}

async function readableSince(account: AccountStore, place: Awaitable<Place>) {
  const { reader, thread } = await place
  const since = readableFrom(reader, placeOfThread(reader, thread))
  return { reader, thread, since, first: since === undefined ? null : await firstSince(account, thread.id, since) }
}

/** Removes messages that the reader may not read, and adds receipts and other details to the rest. */
export async function readable(
  account: AccountStore,
  reader: Reader,
  of: Awaitable<Pick<Thread, 'channel'>>,
  messages: ThreadMessage[],
  firstUnread: number | null,
): Promise<OpenMessage[]> {
  if (messages.length === 0) return []
  const flagged = messages.filter(({ flagged }) => flagged).map(({ seq }) => seq)
  const [thread, receipts, tasks, choices, unchecked] = await Promise.all([
    of,
    receiptsOf(account, messages.map(({ seq }) => seq)),
    account.read.seenTasks.ofMessages(messages.map(({ seq }) => seq)),
    choicesIn(account, messages),
    flagged.length === 0 ? [] : account.read.verdicts.unchecked(flagged),
  ])
  const taskOf = new Map(tasks.map((task) => [task.seq, task]))
  const othersOf = new Map(unchecked.map(({ seq, others }) => [seq, others]))
  return messages.flatMap((message): OpenMessage[] => {
    const found = receipts.get(message.seq)
    const place = placeOfMessage(reader, message, thread, found)
    if (!mayRead(reader, place, message.createdAt)) return []
    const isMine = !isReadBySwitch(reader, place, message.createdAt)
    const isUnread = found?.recipient
      ? found.recipient.agentId === reader.personAlias?.agentId && found.recipient.state === 'unread'
      : isMine && firstUnread !== null && message.seq >= firstUnread &&
        message.fromAgentId !== reader.personAlias?.agentId
    const others = othersOf.get(message.seq)
    const task = taskOf.get(message.seq)
    return [{
      ...message,
      receipts: found,
      isMine,
      isUnread,
      ...(others !== undefined && { unchecked: { only: others === 0 } }),
      choices: choices.get(message.seq),
      ...(task && { task: { state: task.state, isFirst: task.isFirst === 1, steps: task.steps.reverse() } }),
    }]
  })
}

/** Records the reading of these messages, if some are readable only because the account lets owners and admins read. */
export async function recordIfOthers(
  account: AccountStore,
  thread: Thread,
  messages: Awaitable<OpenMessage[]>,
  requestId: string | null,
): Promise<void> {
  const hasOthers = Promise.resolve(messages).then((messages) => messages.some(({ isMine }) => !isMine))
  await recordReadingOf(account, thread, requestId, hasOthers)
}

/** Records the reading of a thread, see `recordReading`. */
export async function recordReadingOf(
  account: AccountStore,
  { id, channel, agents }: Thread,
  requestId: string | null,
  isReading: Awaitable<boolean> = true,
): Promise<void> {
  const thread = String(id)
  const named = channel ? { channel: channel.name } : { agents: agents.map(({ alias }) => alias) }
  await recordReading(account, { thread, ...named }, requestId, isReading)
}

/** Moves the mark only forward, so that opening older messages does not make newer ones unseen. */
async function markSeen(account: AccountStore, { userId }: Reader, thread: Thread, page: ThreadPage): Promise<number> {
  const last = page.messages.at(-1)?.seq ?? 0
  if (page.hasNewer || last <= thread.seenSeq) return thread.seenSeq
  await setSeen(account, userId, thread.id, last)
  return last
}

/** Returns quoted messages by id. Those of other conversations have different readers, so they are not quoted. */
function quotedBy(messages: OpenMessage[], answered: OpenMessage[]): Map<string, OpenMessage> {
  const wanted = new Set(messages.flatMap(({ replyToMessageId: id }, n) => {
    return id !== null && messages[n - 1]?.id !== id ? [id] : []
  }))
  const quoted = [...messages, ...answered].filter(({ id }) => wanted.has(id))
  return new Map(quoted.map((message) => [message.id, message]))
}

export function whoMayRead(
  { role, peopleReadSince }: Pick<Reader, 'role' | 'peopleReadSince'>,
  kind: ThreadKind,
): string {
  const manages = role === 'owner' || role === 'admin'
  const others = role === 'viewer'
    ? 'Viewers see who writes, how much and when.'
    : kind === 'channel'
    ? 'Members of the account can read channels that their alias belongs to.'
    : undefined
  if (peopleReadSince === null) {
    return `Nobody can read what agents of this account write to each other. ${
      others ?? 'An owner can change that in the settings of the account.'
    }`
  }
  return manages
    ? 'An owner chose the day from which you can read messages between agents. This is older.'
    : `Owners and admins can read what agents write to each other. ${
      others ?? 'You can read messages to your alias and from it.'
    }`
}
