/**
 * The deliverable content of a held message, for the page, the hash and the delivery. See docs/protocol/messages.md,
 * "Held messages".
 */
import { digestOf } from '../../lib/digest.ts'
import type { HeldToDecide } from '../../store/account/held.ts'
import type { HeldDelivery } from '../../store/account/new-held.ts'
import type { StoredPart } from '../../store/account/new-message.ts'
import { listParts } from '../conversations/open-message.ts'
import { shownDetails } from '../message/shown-parts.ts'

const columns = [
  'messageId',
  'fromAlias',
  'type',
  'recipient',
  'body',
  'a2a',
  'replyToMessageId',
  'conversationId',
  'hops',
  'flagged',
  'sanitized',
  'sharedWith',
  'via',
] as const

/** The complete delivered content of the message. */
export interface HeldContent extends Pick<HeldToDecide, typeof columns[number]> {
  later: HeldDelivery
  /** Parts that are stored outside `a2a`. */
  parts: StoredPart[]
}

export function heldContent(held: HeldToDecide, parts: StoredPart[]): HeldContent {
  const own = Object.fromEntries(columns.map((name) => [name, held[name]])) as Pick<HeldContent, typeof columns[number]>
  return { ...own, later: held.later, parts }
}

/** Returns the hash that a decision must contain, so that it applies only to this content. */
export function hashOfContent(content: HeldContent): string {
  return digestOf(JSON.stringify(content))
}

export interface ShownContent {
  /** The parts as the recipient would see them. Files and large parts have a `part_id`. */
  parts: Record<string, unknown>[]
  /** All other delivered fields by name, except empty and false values. */
  fields: [name: string, value: unknown][]
}

/** Gives an inline file a `part_id`, like a separately stored file. */
function asFile({ raw, ...part }: Record<string, unknown>, partId: string): Record<string, unknown> {
  const isFile = raw !== undefined || part.filename !== undefined
  return isFile && part.part_id === undefined ? { ...part, part_id: partId } : part
}

/** Returns the content as shown, without its text, sender and recipient. */
export function shownContent(content: HeldContent): ShownContent {
  const { messageId, fromAlias: _from, type: _type, recipient: _recipient, body, a2a, later, parts, ...fields } =
    content
  const { step = {}, ...delivery } = later
  const { parts: shown = [], a2a: details = {}, choices } = a2a === null
    ? {}
    : { ...shownDetails(messageId, a2a, body, Infinity), choices: JSON.parse(a2a).choices }
  const { more = [], ...named } = details as { more?: Record<string, unknown>[] }
  const listed = listParts({ id: messageId, a2a, body })
  return {
    parts: [
      ...shown.map((part, n) => asFile(part, `${messageId}.${listed[n]?.key}`)),
      ...more,
      ...parts.filter(({ id }) => !a2a?.includes(id)).map(({ id }) => ({ part_id: id })),
    ],
    // Pairs instead of an object, because a name may occur twice.
    fields: [fields, delivery, step, { choices }, named].flatMap((some) => Object.entries(some))
      .filter(([, value]) => value !== undefined && value !== null && value !== false && value !== 0)
      .filter(([name, value], n, all) => all.findIndex((one) => one[0] === name && one[1] === value) === n),
  }
}
