/**
 * Builds the one text that guardrails see, from a message's text and all texts in its A2A details, and masks spans of
 * it in the message. See docs/protocol/guardrails.md, "How a message is checked".
 */
import { Buffer } from 'node:buffer'
import { joined } from '../../guardrails/local/view.ts'
import { maxSpans, type Span } from '../../guardrails/provider.ts'
import { digestOf } from '../../lib/digest.ts'
import { isBase64, textOfBytes } from '../../lib/encoding.ts'
import { withoutInvisible } from '../../lib/invisible-text.ts'
import { once } from '../../lib/lazy.ts'
import { wellFormed } from '../../lib/text.ts'

const mask = '[redacted]'
/** Maximum length of the text for guardrails, in UTF-16 units: 1 MiB of files, and room for the other texts. */
export const maxGuardedLength = 1_200_000
/** Base64 that would exceed the maximum length is not decoded. */
const maxDecoded = 2 * maxGuardedLength
const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export interface MessageContent {
  body: string
  details?: Record<string, unknown>
  /** The id of the message's conversation, if a sender chose it and the details do not contain it. */
  conversationId?: string
  /** The ends of preceding texts, the last one directly before the body. They are checked but not changed. */
  continues?: readonly string[]
}

export interface GuardedContent {
  text: string
  /** The offset of the message in the text, after the continued texts. */
  start: number
  /** See `GuardedText`. */
  pieces?: Span[]
  unreadable: string[]
  fits: boolean
}

export function hashOf({ text, unreadable }: GuardedContent): string {
  return digestOf([text, ...unreadable].join('\0'))
}

/**
 * Returns the text of a message that guardrails see: continued texts directly followed by its own text, then the texts
 * of its details and conversation, joined by line feeds. Data is JSON with unescaped strings.
 */
export function guardedContent(content: MessageContent): GuardedContent {
  const before = textBefore(content)
  let texts = ''
  const unreadable: string[] = []
  const parts: Span[] = []
  const addPart = (start: number, { length }: string) =>
    parts.push({ start: before.length + start, end: before.length + start + length })
  const seen = (text: string, after = '\n') => {
    texts += text + after
    return text
  }
  mapTexts(content, {
    text: seen,
    file: seen,
    textPart: (text) => addPart(texts.length, text),
    partOfBody: (text, start) => {
      addPart(start, text)
      return text
    },
    unreadable: (raw) => unreadable.push(raw),
  })
  const text = before + texts.slice(0, -1)
  const pieces = piecesOf(content, before.length, parts)
  return { text, start: before.length, pieces, unreadable, fits: text.length <= maxGuardedLength }
}

function textBefore({ continues = [] }: MessageContent): string {
  return continues.join('\n')
}

/** Returns the separate pieces of the text. Text parts follow the message's text, unless they repeat it. */
function piecesOf({ continues = [], body }: MessageContent, from: number, parts: Span[]): Span[] | undefined {
  if (continues.length + parts.length === 0) return undefined
  const own = parts[0]?.start === from ? parts : [{ start: from, end: from + body.length }, ...parts]
  const pieces: Span[] = []
  let start = 0
  for (const { length } of continues) {
    pieces.push({ start, end: start + length })
    start += length + 1
  }
  const last = pieces.pop()
  const all = [...pieces, { start: last?.start ?? from, end: own[0].end }, ...own.slice(1)]
  return all.length > 1 ? all : undefined
}

/** Masks these spans of the message's one text; with no spans, or very many, masks everything. */
export function withMasked(content: MessageContent, text: string, spans: readonly Span[]): MessageContent {
  const merged = mergedSpans(text, spans)
  const masked = merged.length === 0 || merged.length > maxSpans ? [{ start: 0, end: text.length }] : merged
  const from = textBefore(content).length
  let offset = from
  const next = (part: string, after = '\n') => {
    const start = offset
    offset += part.length + after.length
    return maskedIn(part, start, masked)
  }
  return mapTexts(content, {
    text: (part, after) => cleanedIfMasked(part, next(part, after)),
    file: (part) => next(part),
    partOfBody: (part, start) => cleanedIfMasked(part, maskedIn(part, from + start, masked)),
    unreadable: () => {},
  })
}

/** Removes the joiners of a masked character, which would be invisible text. */
function cleanedIfMasked(text: string, masked: string): string {
  return masked === text ? text : withoutInvisible(masked)
}

/** Applies a guardrail's rewritten text. If the rewrite changes more than the body, everything is masked. */
export function withReplacement(
  content: MessageContent,
  text: string,
  replacement: string,
): MessageContent {
  const { body } = content
  const before = textBefore(content)
  const others = text.slice(before.length + body.length)
  const isOfBody = replacement.startsWith(before) && replacement.endsWith(others)
  const written = isOfBody
    ? withoutInvisible(wellFormed(replacement.slice(before.length, replacement.length - others.length)) ?? '')
    : ''
  const masked = () => withMasked(content, text, [])
  if (written === '') return masked()
  const texts = bodyParts(content)
  if (texts.length === 0) return { ...content, body: written }
  if (texts.length > 1) return masked()
  const parts = (content.details!.parts as Record<string, unknown>[])
    .map((part) => isText(part.text) ? { ...part, text: written } : part)
  return { body: written, details: { ...content.details, parts } }
}

interface TextVisitor {
  /** Returns the text to store. `after` follows the given text in the one text; by default, a line feed. */
  text(text: string, after?: string): string
  file(text: string): string
  /** Called before `text` for a text part outside the message's text. */
  textPart?(text: string): void
  /** A text part that the message's text already contains, at `start`. */
  partOfBody(text: string, start: number): string
  unreadable(raw: string): void
}

/** Returns the message with each text replaced by the visitor's result, in a fixed order. */
function mapTexts(content: MessageContent, visitor: TextVisitor): MessageContent {
  const { body, details, conversationId } = content
  return {
    ...content,
    body: visitor.text(body),
    ...(details && { details: mapDetails(body, details, visitor) }),
    ...(conversationId !== undefined && { conversationId: String(deep(conversationId, visitor)) }),
  }
}

function mapDetails(body: string, details: Record<string, unknown>, visitor: TextVisitor): Record<string, unknown> {
  const ofBody = bodyParts({ body, details })
  let start = 0
  const part = (given: unknown) => {
    if (typeof given !== 'object' || given === null) return deep(given, visitor)
    if ('upload' in given) return uploadOf(given as Record<string, unknown>, visitor)
    return Object.fromEntries(
      Object.entries(given).map(([name, value]) => {
        if (name === 'raw' && typeof value === 'string') return [name, fileOf(value, visitor)]
        if (name === 'data') return [name, dataOf(value, visitor)]
        if (name !== 'text' || !isText(value)) return [name, deep(value, visitor)]
        if (ofBody.length === 0) {
          if (isSeen(value)) visitor.textPart?.(value)
          return [name, deep(value, visitor)]
        }
        const shown = visitor.partOfBody(value, start)
        start += value.length + 1
        return [name, shown]
      }),
    )
  }
  return Object.fromEntries(
    Object.entries(details).map(([name, value]) => [
      name,
      name === 'parts' && Array.isArray(value) ? value.map(part) : deep(value, visitor),
    ]),
  )
}

/** Replaces a masked upload with its masked content. Without `raw`, the content of the upload is unchecked. */
function uploadOf({ upload, bytes, ...part }: Record<string, unknown>, visitor: TextVisitor): unknown {
  const raw = part.raw === undefined ? undefined : fileOf(String(part.raw), visitor)
  if (raw === undefined) visitor.unreadable(String(upload))
  const shown = Object.entries(part).map(([name, value]) => [name, name === 'raw' ? raw : deep(value, visitor)])
  return { ...Object.fromEntries(shown), ...(raw === part.raw && { upload, bytes }) }
}

function dataOf(data: unknown, visitor: TextVisitor): unknown {
  const shown = deep(data, visitor, (mark) => visitor.text('', mark))
  visitor.text('', '\n')
  return shown
}

/** Returns the text parts, if they make up exactly the message's text. Otherwise each is a separate text. */
function bodyParts({ body, details }: MessageContent): string[] {
  if (!Array.isArray(details?.parts)) return []
  const texts = details.parts.flatMap((part) => isText(part?.text) ? [part.text] : [])
  return texts.join('\n') === body ? texts : []
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isSeen(text: string): boolean {
  return text !== '' && !uuidPattern.test(text)
}

/**
 * Visits strings, member names and numbers at any depth, except UUIDs, whose digits cause false positives. `mark` adds
 * the JSON punctuation.
 */
function deep(value: unknown, visitor: TextVisitor, mark?: (mark: string) => void): unknown {
  const after = mark && ''
  const quoted = (text: string, isSeen: boolean) => {
    mark?.('"')
    const shown = isSeen ? visitor.text(text, after) : text
    mark?.('"')
    return shown
  }
  if (typeof value === 'string') return quoted(value, isSeen(value))
  if (typeof value === 'number') {
    const text = String(value)
    const shown = visitor.text(text, after)
    return shown === text ? value : shown
  }
  if (Array.isArray(value)) {
    mark?.('[')
    const items = value.map((item, n) => {
      if (n > 0) mark?.(',')
      return deep(item, visitor, mark)
    })
    mark?.(']')
    return items
  }
  if (typeof value !== 'object' || value === null) {
    mark?.(String(value))
    return value
  }
  const members = new Map<string, unknown>()
  const repeats = new Map<string, number>()
  mark?.('{')
  for (const [name, item] of Object.entries(value)) {
    if (members.size > 0) mark?.(',')
    const shown = quoted(name, name !== '')
    mark?.(':')
    let unused = shown
    // Masked names must stay distinct, so that no member overwrites another.
    while (members.has(unused)) {
      const n = (repeats.get(shown) ?? 1) + 1
      repeats.set(shown, n)
      unused = `${shown} ${n}`
    }
    members.set(unused, deep(item, visitor, mark))
  }
  mark?.('}')
  return Object.fromEntries(members)
}

function fileOf(raw: string, visitor: TextVisitor): string {
  const text = raw.length > maxDecoded ? undefined : textOfFile(raw)
  if (text === undefined) {
    visitor.unreadable(raw)
    return raw
  }
  const shown = visitor.file(text)
  return shown === text ? raw : Buffer.from(shown).toString('base64')
}

/** Decodes a text file. Skips invalid base64: decoders disagree on where it ends, and a model may read it as text. */
function textOfFile(raw: string): string | undefined {
  if (!isBase64(raw.replace(/[\r\n]/g, ''))) return undefined
  return textOfBytes(Buffer.from(raw, 'base64'))
}

/** Returns the spans sorted, without overlaps, and extended to complete grapheme clusters. */
function mergedSpans(text: string, spans: readonly Span[]): Span[] {
  return joined(
    spans.filter(({ start, end }) => start < end).map(({ start, end }) => ({
      start: boundary(text, Math.max(0, Math.floor(start)), -1),
      end: clusterEnd(text, boundary(text, Math.min(text.length, Math.ceil(end)), 1)),
    })),
  )
}

function boundary(text: string, at: number, step: -1 | 1): number {
  const isInside = /[\ud800-\udbff]/.test(text[at - 1] ?? '') && /[\udc00-\udfff]/.test(text[at] ?? '')
  return isInside ? at + step : at
}

const segmenter = once(() => new Intl.Segmenter(undefined, { granularity: 'grapheme' }))
/** Maximum length of the text in which a position's cluster is searched, because the time grows with the length. */
const mostOfCluster = 32

/** Returns the end of the grapheme cluster that contains the position. @see UAX #29 */
function clusterEnd(text: string, at: number): number {
  // Fast path: nearly all characters begin a cluster.
  if (!(text.charCodeAt(at) >= 0x300)) return at
  const from = boundary(text, Math.max(0, at - mostOfCluster), 1)
  const near = text.slice(from, boundary(text, Math.min(text.length, at + mostOfCluster), 1))
  const { index, segment } = segmenter().segment(near).containing(at - from)!
  return from + index === at ? at : from + index + segment.length
}

/** Returns a part of the one text at `start`, with the spans masked. */
function maskedIn(part: string, start: number, spans: readonly Span[]): string {
  let shown = ''
  let at = 0
  for (const span of spans) {
    const from = Math.max(span.start - start, at)
    const to = Math.min(span.end - start, part.length)
    if (from >= to) continue
    shown += part.slice(at, from) + mask
    at = to
  }
  return at === 0 ? part : shown + part.slice(at)
}
