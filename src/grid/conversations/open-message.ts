/** Single messages with their parts and chains. See docs/people.md, "People who read". */
import { GridError } from '../../errors.ts'
import { isId } from '../../lib/id.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PartOfMessage, StoredPart } from '../../store/account/new-message.ts'
import type { Receipt } from '../../store/account/thread-messages.ts'
import { type PartHandle, storedPart } from '../message/parts.ts'
import { contentOf, type PartContent, partIn } from '../message/read-part.ts'
import { besidesText, inlineDetails } from '../message/shown-parts.ts'
import { retractMessage } from '../messaging/retract-message.ts'
import { remoteEvents } from '../messaging/remote-progress.ts'
import { callingPersonAlias } from '../people/person-aliases.ts'
import { isReadBySwitch, mayRead, placeOfMessage, type Reader, readerOf } from './may-read.ts'
import { type ChainMessage, findMessage, readChain, receiptsOf, type ThreadMessage } from './messages.ts'
import { type OpenMessage, readable, recordIfOthers, recordReadingOf, whoMayRead } from './open.ts'
import { findThread, type Thread } from './threads.ts'

export interface OpenedMessage {
  reader: Reader
  thread: Thread
  message: OpenMessage
  receipts: Receipt[]
}

const receiptsPage = 50
const maxVerdicts = 100

/**
 * Returns one message by `seq` or id, with guardrail verdicts and remote agent events. If the message is a post,
 * `after` is where the page of its recipients starts.
 */
export async function openMessage(
  account: AccountStore,
  ref: string,
  options: { requestId: string | null; after?: string },
) {
  const [reader, found] = await Promise.all([readerOf(account), messageNamed(account, ref)])
  if (!found) throw unknownMessage()
  const [opened, remote, verdicts] = await Promise.all([
    openFound(account, reader, found, options),
    remoteEvents(account, found.id),
    account.read.verdicts.ofMessage(found.id, maxVerdicts),
  ])
  return { ...opened, remote, verdicts }
}

async function openFound(
  account: AccountStore,
  reader: Reader,
  found: ThreadMessage,
  { requestId, after }: { requestId: string | null; after?: string },
): Promise<OpenedMessage> {
  const opened = await readFound(account, reader, found, after)
  await recordIfOthers(account, opened.thread, [opened.message], requestId)
  return opened
}

/**
 * Returns a message by its id, if the calling user may read it. A caller that shows its text records the reading. Fails
 * with `message_not_found` or `not_allowed`.
 */
export async function readableMessage(account: AccountStore, id: string): Promise<OpenMessage> {
  const [reader, found] = await Promise.all([readerOf(account), messageNamed(account, id)])
  if (!found) throw unknownMessage()
  return (await readFound(account, reader, found)).message
}

/** Fails with `not_allowed` if the reader may not read the message. Does not record the reading. */
async function readFound(
  account: AccountStore,
  reader: Reader,
  found: ThreadMessage,
  after = '',
): Promise<OpenedMessage> {
  const threadOfIt = findThread(account, found.threadId).then((thread) => {
    if (!thread) throw unknownMessage()
    return thread
  })
  const [thread, [message], receipts] = await Promise.all([
    threadOfIt,
    readable(account, reader, threadOfIt, [found], null),
    account.read.threadMessages.ofPost(found.seq, after, receiptsPage),
  ])
  if (!message) throw new GridError('not_allowed', whoMayRead(reader, thread.kind))
  const recipient = message.receipts?.recipient
  return { reader, thread, message, receipts: recipient ? [recipient] : receipts }
}

/** Returns a part of a message by its key in `listParts`. Fails with `part_not_found`, or as `openMessage` does. */
export async function openPart(
  account: AccountStore,
  ref: string,
  key: string,
  requestId: string | null,
): Promise<PartContent> {
  const [reader, found] = await Promise.all([readerOf(account), messageNamed(account, ref)])
  if (!found) throw unknownMessage()
  const { message } = await openFound(account, reader, found, { requestId })
  const { id, isReceived, fromAgentId, receipts, changedFor } = message
  if (changedFor !== null) return await findListedPart(account, { id, agentId: changedFor, isSent: false }, key)
  const agentId = isReceived ? receipts?.recipient?.agentId ?? '' : fromAgentId
  return await findListedPart(account, { id, agentId, isSent: !isReceived }, key)
}

/** Retracts a message that the calling user sent, named by its `seq` or its id. Fails as `retractMessage` does. */
export async function retractOwnMessage(account: AccountStore, ref: string): Promise<void> {
  const message = await messageNamed(account, ref)
  if (!message) throw unknownMessage()
  await retractMessage(account, await callingPersonAlias(account), message.id)
}

/** Whether the message is the reader's own and still unread. */
export function canRetract(
  { personAlias }: Pick<Reader, 'personAlias'>,
  { fromAgentId, receipts }: Pick<OpenMessage, 'fromAgentId' | 'receipts'>,
): boolean {
  return personAlias?.agentId === fromAgentId && receipts !== undefined && receipts.read === 0 && receipts.unread > 0
}

async function messageNamed(account: AccountStore, ref: string): Promise<ThreadMessage | undefined> {
  if (isId(ref)) return await findMessage(account, { id: ref })
  const seq = seqIn(ref)
  return seq === undefined ? undefined : await findMessage(account, { seq })
}

function seqIn(ref: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(ref) ? Number(ref) : undefined
}

function unknownMessage(): GridError {
  return new GridError('message_not_found', 'This message does not exist, or was removed.')
}

export interface OpenChainMessage extends ThreadMessage {
  /** The depth of the message in the chain. */
  depth: number
  /** If false, the reader sees only that the message exists; `body` and `a2a` are empty. */
  isReadable: boolean
}

interface OpenedChain {
  reader: Reader
  root: number
  messages: OpenChainMessage[]
  total: number
}

export const chainPageSize = 100

/** Returns all messages of the chain, each before its answers. `offset` is the number of messages before the page. */
export async function openChain(
  account: AccountStore,
  ref: string,
  { requestId, offset = 0 }: { requestId: string | null; offset?: number },
): Promise<OpenedChain> {
  const seq = seqIn(ref)
  const [reader, found, root] = await Promise.all([
    readerOf(account),
    messageNamed(account, ref),
    seq === undefined ? undefined : readChain(account, seq),
  ])
  if (!found) throw unknownMessage()
  // The chain is shown only if the message itself is readable.
  const [{ first, total, page, threads, receipts }, opened] = await Promise.all([
    pageOfChain(account, root ?? await readChain(account, found.seq), offset),
    readFound(account, reader, found),
  ])
  const ofOthers = new Map<number, Thread>()
  if (!opened.message.isMine) ofOthers.set(opened.thread.id, opened.thread)
  const messages = page.map((one): OpenChainMessage => {
    const thread = threads.get(one.threadId)
    const place = thread && placeOfMessage(reader, one, thread, receipts.get(one.seq))
    if (!place || !mayRead(reader, place, one.createdAt)) return { ...one, isReadable: false, body: '', a2a: null }
    if (isReadBySwitch(reader, place, one.createdAt)) ofOthers.set(thread.id, thread)
    return { ...one, isReadable: true }
  })
  await Promise.all([...ofOthers.values()].map((thread) => recordReadingOf(account, thread, requestId)))
  return { reader, root: first, messages, total }
}

async function pageOfChain(account: AccountStore, root: ChainMessage | undefined, offset: number) {
  if (!root) throw unknownMessage()
  const all = inOrder(root)
  const page = all.slice(offset, offset + chainPageSize)
  const [threads, receipts] = await Promise.all([
    threadsOf(account, page),
    receiptsOf(account, page.map(({ seq }) => seq)),
  ])
  return { first: root.seq, total: all.length, page, threads, receipts }
}

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

interface ListedPart {
  key: string
  kind: string
  filename?: string
  mediaType: string
  bytes: number
}

/** Returns the details of a message besides its text; empty if they are damaged. */
export function listParts({ id, a2a, body }: { id: string; a2a: string | null; body: string }): ListedPart[] {
  if (a2a === null) return []
  try {
    const { inline } = inlineDetails(id, a2a)
    const { parts = [], more = [] } = inline
    const besides = besidesText(inline, body)
    const shown = parts.flatMap((part, n) => besides.includes(part) ? [handleAt(id, part, n)] : [])
    return [...shown, ...more].map(({ kind, filename, mediaType = 'application/json', bytes, part_id }) => (
      { key: part_id.slice(id.length + 1), kind, filename, mediaType, bytes }
    ))
  } catch {
    return []
  }
}

/** Returns the names of the files among parts, as one text. */
export function fileNames(parts: readonly ListedPart[]): string {
  return parts.flatMap(({ filename }) => filename ?? []).join(', ')
}

/** Returns the handle of an inline or separately stored part. */
function handleAt(messageId: string, part: Record<string, unknown>, n: number): PartHandle {
  if (part.part_id !== undefined) return part as unknown as PartHandle
  return storedPart(`${messageId}.${n}`, part).handle
}

/** Returns a part from `listParts` of a message that `agentId` sent or received. Fails with `part_not_found`. */
export async function findListedPart(
  account: AccountStore,
  { id, agentId, isSent }: { id: string; agentId: string; isSent: boolean },
  key: string,
): Promise<PartContent> {
  const partId = `${id}.${key}`
  const { parts } = account.read
  const found = isSent ? await parts.sent(agentId, id, partId) : await parts.received(agentId, id, partId)
  const part = found && (partIn(found, id, partId) ?? inlinePart(found, partId, key))
  if (!part) throw new GridError('part_not_found', 'This part does not exist, or was removed.')
  return contentOf(found, part, (upload, n) => account.read.uploads.rowOfMessage(agentId, id, upload, n))
}

/** Returns an inline part, by its index. */
export function inlinePart({ a2a }: Pick<PartOfMessage, 'a2a'>, partId: string, key: string): StoredPart | undefined {
  try {
    const { parts = [] } = JSON.parse(a2a ?? '{}') as { parts?: unknown[] }
    const part = /^\d+$/.test(key) ? parts[Number(key)] : undefined
    return part === undefined ? undefined : storedPart(partId, part).part
  } catch {
    return undefined
  }
}
