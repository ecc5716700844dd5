/** Messages and conversations as the components of `html/conversation/` show them. */
import { maxShown } from '../../grid/conversations/messages.ts'
import { canRetract, listParts } from '../../grid/conversations/open-message.ts'
import type { OpenConversation, OpenMessage } from '../../grid/conversations/open.ts'
import type { Thread } from '../../grid/conversations/threads.ts'
import { chosenIn } from '../../grid/message/choices.ts'
import { endOfPiece } from '../../grid/message/read-part.ts'
import { isFromA2a } from '../../grid/message/shown-parts.ts'
import type { ShownMessage } from '../../html/conversation/message.tsx'
import { type DeliveryState, isEnded, type ShownReceipt } from '../../html/conversation/state-line.tsx'
import type { ShownThread } from '../../html/conversation/thread-row.tsx'
import { isId } from '../../lib/id.ts'
import { oneLine } from '../../lib/one-line.ts'
import { minute } from '../../lib/time.ts'
import type { Receipt } from '../../store/account/thread-messages.ts'

/** So much of an answered message is shown above its answer, in UTF-16 units. */
const maxQuoted = 160
/** A line of the list has room for less, in UTF-16 units. */
const maxPreview = 100
/** A message that is unread for longer is shown as waiting. */
const usualWaitMs = 10 * minute

export type Path = (...parts: string[]) => string

/** Its first two agents with `@`, or its channel with `#`. */
export function namesOf({ channel, agents }: Thread): string[] {
  return channel ? [`#${channel.name}`] : agents.slice(0, 2).map(({ alias }) => `@${alias}`)
}

/** The id of a conversation as its agents chose it. An id that the grid made says nothing to people. */
export function labelOf({ conversationId }: Thread): string | undefined {
  return conversationId === null || isId(conversationId) ? undefined : conversationId
}

/** `@planner + @builder`, or `#incidents`. */
export function titleOf(thread: Thread): string {
  return namesOf(thread).join(' + ')
}

/** A conversation of a list, for a reader with this alias. `query` chooses the list that is next to it. */
export function shownThread(
  thread: Thread,
  path: Path,
  query: string,
  { current, self }: { current?: number; self?: string },
): ShownThread {
  const { id, lastAt, lastSeq, seenSeq, messages, preview, unread } = thread
  // Readers do not need their own name.
  const names = namesOf(thread).filter((name, _, { length }) => length === 1 || name !== `@${self}`)
  const isNew = unread > 0 || (seenSeq > 0 && seenSeq < lastSeq)
  return {
    href: `${path('conversations', String(id))}${query}${isNew ? '#new' : ''}`,
    names,
    label: labelOf(thread),
    lastAt,
    messages,
    ...(preview && {
      preview: { from: previewFrom(preview.fromAlias, names, self), text: oneLine(preview.text).slice(0, maxPreview) },
    }),
    unread,
    isNew,
    isCurrent: id === current,
  }
}

/** Who wrote the newest message: the reader, one of several, or undefined for the only one that the line names. */
function previewFrom(alias: string, names: string[], self: string | undefined): string | undefined {
  if (alias === self) return 'You'
  return names.length === 1 && names[0] === `@${alias}` ? undefined : `@${alias}`
}

/** The messages of a page of a conversation. `replyHref`: where the reader answers one. */
export function shownMessages(
  { reader, messages, quoted, thread }: Pick<OpenConversation, 'reader' | 'messages' | 'quoted' | 'thread'>,
  path: Path,
  now: number,
  replyHref?: (message: OpenMessage) => string | undefined,
): ShownMessage[] {
  const roots = new Set(messages.flatMap(({ rootSeq, seq }) => rootSeq === seq ? [] : [rootSeq]))
  return messages.map((message) => ({
    ...shownMessage(message, path, now),
    replyHref: replyHref?.(message),
    choices: shownChoices(message, replyHref?.(message) && path('conversations', String(thread.id), 'choose')),
    ...(canRetract(reader, message) && { retractHref: path('messages', String(message.seq)) }),
    // The title says it.
    ...(thread.kind !== 'conversation' && { to: undefined }),
    quote: message.replyToMessageId === null
      ? undefined
      : shownQuote(quoted.get(message.replyToMessageId), path, thread, messages),
    chainHref: message.rootSeq !== message.seq || roots.has(message.seq)
      ? path('messages', String(message.seq), 'chain')
      : undefined,
  }))
}

/** `action`: where the reader would answer the message. */
function shownChoices(
  { choices, fromAlias, recipient, seq }: OpenMessage,
  action?: string,
): ShownMessage['choices'] {
  if (!choices) return undefined
  const { offered, chosen, isOpen } = choices
  return {
    asker: `@${fromAlias}`,
    asked: recipient,
    offered,
    chosen,
    ...(isOpen && action && { form: { action, fields: { question: `${seq}` } } }),
  }
}

/** Leads to the answered message: on the page, if it is among its `messages`. */
function shownQuote(
  quoted: OpenMessage | undefined,
  path: Path,
  thread: Thread,
  messages: OpenMessage[],
): ShownMessage['quote'] {
  if (!quoted) return undefined
  const { seq, fromAlias, body } = quoted
  const isHere = messages.some((message) => message.seq === seq)
  const href = `${isHere ? '' : `${path('conversations', String(thread.id))}?m=${seq}`}#m${seq}`
  return { from: `@${fromAlias}`, text: oneLine(body.slice(0, maxQuoted)), href }
}

/** One message. `isWhole`: with all of its text. */
export function shownMessage(message: OpenMessage, path: Path, now: number, isWhole = false): ShownMessage {
  const { seq, body, a2a, createdAt, fromAlias, isForeign, isUnread, receipts, recipient, type, via } = message
  const page = path('messages', String(seq))
  const end = isWhole ? body.length : endOfPiece(body, 0, maxShown)
  const receipt = receipts?.recipient
  return {
    seq,
    from: { name: `@${fromAlias}`, kind: type, isA2a: isFromA2a(a2a), via, isForeign },
    to: recipient,
    at: createdAt,
    text: body.slice(0, end),
    ...(end < body.length && { whole: { characters: body.length, href: page } }),
    // The choice of an answer is its text.
    parts: (chosenIn(a2a)?.choice === body ? [] : listParts(message)).map((
      { key, kind, filename, mediaType, bytes },
    ) => ({
      name: filename ?? kind,
      type: mediaType,
      size: sizeInWords(bytes),
      href: `${page}/parts/${key}`,
    })),
    choices: shownChoices(message),
    verdicts: [
      ...(message.unchecked ? [{ text: 'not checked', isBad: true }] : []),
      ...(message.flagged && !message.unchecked?.only ? [{ text: 'flagged', isBad: true }] : []),
      ...(message.sanitized ? [{ text: 'invisible characters removed', isBad: false }] : []),
      ...(message.edited ? [{ text: 'edited by the person who approved it', isBad: false }] : []),
      ...(message.sharedWith ? [{ text: `text was sent to ${message.sharedWith}`, isBad: false }] : []),
    ],
    receipts: receipt ? [shownReceiptOf(message, receipt, now)] : [],
    task: message.task,
    ...(receipts && !receipt && receipts.recipients > 0 && { readBy: { ...receipts, href: page } }),
    isUnread,
  }
}

/** The request failed, so a message about the failure is not an answer. */
function hasFailed({ task }: OpenMessage): boolean {
  return task !== undefined && task.isFirst && ['failed', 'rejected', 'canceled'].includes(task.state)
}

/** The delivery of a message to a recipient. If its task failed, it was not answered. */
export function shownReceiptOf(message: OpenMessage, receipt: Receipt, now: number): ShownReceipt {
  return shownReceipt(hasFailed(message) ? { ...receipt, repliedAt: null } : receipt, message.recipient, now)
}

/** The delivery of a message to a recipient. `recipient` is how it was addressed. */
export function shownReceipt(receipt: Receipt, recipient: string, now: number): ShownReceipt {
  const { alias, state, storedAt, wokenAt, readAt, repliedAt } = receipt
  const events: [event: string, at: number | null][] = [
    ['stored', storedAt],
    ['woken', wokenAt],
    [state === 'parked' || isEnded(state) ? state : state === 'leased' ? 'taken' : 'read', readAt],
    ['answered', repliedAt],
  ]
  return {
    alias: alias ?? recipient.replace(/^@/, ''),
    state: stateOf(receipt, now),
    events: events.flatMap(([event, at]) => at === null ? [] : [{ event, at }]),
  }
}

function stateOf({ state, storedAt, releaseCount, repliedAt }: Receipt, now: number): DeliveryState {
  if (repliedAt !== null) return 'replied'
  if (state !== 'unread') return state
  if (releaseCount > 0) return 'released'
  return now - storedAt > usualWaitMs ? 'waiting' : 'stored'
}

/** `48 kB`, from bytes. */
export function sizeInWords(bytes: number): string {
  const steps: [size: number, name: string][] = [[1_000_000, 'MB'], [1_000, 'kB']]
  const [size, name] = steps.find(([size]) => bytes >= size) ?? [1, 'B']
  const amount = bytes / size
  return `${amount < 10 && size > 1 ? amount.toFixed(1) : Math.round(amount).toLocaleString('en')} ${name}`
}
