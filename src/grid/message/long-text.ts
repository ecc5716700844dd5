/** Texts longer than a message. The message contains the beginning. See docs/protocol/messages.md, "Long texts". */
import { hasAtMost } from '../../lib/text.ts'
import type { Part } from './part.ts'
import { textOf } from './part.ts'
import { type A2aDetails, maxMessageLength } from './outgoing-message.ts'
import { hasMoreThanParts } from './parts.ts'

/** Returns the beginning of a text that is too long for a message. */
export function shortened(text: string): string {
  return hasAtMost(text, maxMessageLength) ? text : `${Array.from(text).slice(0, maxMessageLength - 1).join('')}…`
}

/** Whether a stored text looks like the beginning of a longer one. */
export function isShortened(body: string): boolean {
  return body.endsWith('…') && body.length >= maxMessageLength && !hasAtMost(body, maxMessageLength - 1)
}

/** Returns a text and its details as they will be stored. */
export function asStored(text: string, details: A2aDetails | undefined): { body: string; details?: A2aDetails } {
  if (hasAtMost(text, maxMessageLength)) return { body: text, details }
  const body = shortened(text)
  const isA2a = details !== undefined && hasMoreThanParts(details)
  // The parts of an A2A message contain the complete text, unless it is a single bare text.
  if (isA2a && details.parts) return { body, details }
  const parts = [{ text }, ...details?.parts ?? []]
  return { body, details: { ...details, parts, ...(!isA2a && { hasLongText: true as const }) } }
}

/** Returns the complete text and details of a stored message, as its sender gave them. */
export function asGiven(body: string, details: A2aDetails | undefined): { text: string; details?: A2aDetails } {
  if (!details?.parts) return { text: body, details }
  const { hasLongText, parts: [first, ...parts], ...others } = details
  if (!hasLongText) {
    const text = textOf(details.parts as Part[])
    return { text: shortened(text) === body ? text : body, details }
  }
  const given = { ...others, ...(parts.length > 0 && { parts }) }
  return { text: (first as { text: string }).text, ...(Object.keys(given).length > 0 && { details: given }) }
}
