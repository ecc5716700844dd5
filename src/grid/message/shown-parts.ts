/** The parts and A2A details of a message as shown to its reader. See docs/protocol/messages.md, "Parts". */
import { Buffer } from 'node:buffer'
import { textOfBytes } from '../../lib/encoding.ts'
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import { bytesOf } from './given-parts.ts'
import { handleOf, hasMoreThanParts, maxInlineBytes, type PartHandle, splitDetails, wholePart } from './parts.ts'

type ShownPart = Partial<PartHandle> & Record<string, unknown>

export interface ShownDetails {
  isA2a: boolean
  /** Whether invisible characters that an older version stored were removed. */
  sanitized: boolean
  /** Parts that contain more than the message's text. Not empty. */
  parts?: ShownPart[]
  /** Further A2A fields. */
  a2a?: Record<string, unknown>
}

/** Whether a message came over A2A; true for damaged details. See `A2aDetails`. */
export function isFromA2a(json: string | null): boolean {
  if (json === null) return false
  try {
    return hasMoreThanParts(JSON.parse(json))
  } catch {
    return true
  }
}

/** Whether the text of a message is among its parts. */
export function hasTextInParts(json: string | null): boolean {
  return isFromA2a(json) || JSON.parse(json ?? '{}').hasLongText === true
}

/** Returns the details for the reader. `json` are the stored details, `body` is the text. Throws if damaged. */
export function shownDetails(messageId: string, json: string, body: string, maxChars: number): ShownDetails {
  const { inline, chars, sanitized } = inlineDetails(messageId, json)
  const { parts: _, choices: __, hasLongText: ___, ...a2a } = inline
  const isA2a = hasMoreThanParts(inline)
  if (chars > maxChars) {
    const whole = handleOf('details', wholePart(`${messageId}.details`, inline))
    return { isA2a, sanitized, ...(isA2a ? { a2a: { more: [whole] } } : { parts: [{ ...whole }] }) }
  }
  const parts = besidesText(inline, body)
  return { isA2a, sanitized, ...(parts.length > 0 && { parts: parts.map(asShown) }), ...(isA2a && { a2a }) }
}

type InlineDetails = Record<string, unknown> & { parts?: ShownPart[]; more?: PartHandle[] }

/** Returns the stored details as far as they fit inline, with their length as JSON. Throws if they are damaged. */
export function inlineDetails(
  messageId: string,
  json: string,
): { inline: InlineDetails; chars: number; sanitized: boolean } {
  const stored = JSON.parse(json)
  const details = withoutInvisibleIn(stored)
  const sanitized = details !== stored
  if (Buffer.byteLength(json) <= maxInlineBytes) return { inline: details, chars: json.length, sanitized }
  const { inline } = splitDetails(messageId, details)
  return { inline, chars: JSON.stringify(inline).length, sanitized }
}

/** Omits the texts that make up an A2A message's text, unless they have other members. */
export function besidesText(inline: InlineDetails, body: string): ShownPart[] {
  const { parts = [] } = inline
  if (!hasMoreThanParts(inline)) return parts
  const texts = parts.filter((part) => typeof part.text === 'string' ? part.text !== '' : part.kind === 'text')
  const lengths = texts.map(({ text, bytes }) => typeof text === 'string' ? Buffer.byteLength(text) : bytes!)
  const isWhole = lengths.reduce((sum, length) => sum + length + 1, -1) === Buffer.byteLength(body)
  return isWhole ? parts.filter((part) => saysMore(part) || !(part.text === '' || texts.includes(part))) : parts
}

function saysMore({ filename, mediaType, metadata }: ShownPart): boolean {
  return filename !== undefined || mediaType !== undefined || metadata !== undefined
}

/** Returns a part with its length. A text file is shown as text if that is lossless. */
function asShown(part: ShownPart): ShownPart {
  if (part.part_id !== undefined) return part
  const { filename, mediaType, metadata, ...content } = part
  const { raw } = content
  const text = typeof raw === 'string' && isTextType(mediaType) ? textOfBytes(Buffer.from(raw, 'base64')) : undefined
  return {
    ...(filename !== undefined && { filename }),
    ...(mediaType !== undefined && { mediaType }),
    bytes: bytesOf(content),
    ...(text !== undefined && withoutInvisible(text) === text ? { text } : content),
    ...(metadata !== undefined && { metadata }),
  }
}

export function isTextType(mediaType: string | undefined): boolean {
  return /^text\/|^application\/(json|xml|yaml|javascript)\b|\+(json|xml)\b/i.test(mediaType ?? '')
}
