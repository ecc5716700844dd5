/** Fetching a part of a message that does not fit inline. See docs/protocol/messages.md, "Large parts". */
import { Buffer } from 'node:buffer'
import { callingAgent } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { textOfBytes } from '../../lib/encoding.ts'
import { withoutInvisible, withoutInvisibleIn } from '../../lib/invisible-text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { PartOfMessage, StoredPart } from '../../store/account/new-message.ts'
import { type PartHandle, type SplitDetails, splitDetails, wholePart } from './parts.ts'
import { isTextType } from './shown-parts.ts'
import { bytesBetween, piecesBetween } from './uploads.ts'

export interface PartContent {
  id: string
  mediaType: string
  filename?: string
  /** A text, or the JSON of data. Undefined for other content. */
  text?: string
  /** The length in bytes. */
  length: number
  bytes(first: number, end: number): Promise<Buffer<ArrayBuffer>>
  /** The content in pieces, to keep memory small. */
  pieces(first: number, end: number): AsyncIterable<Uint8Array>
}

/** Returns a part of a message that the calling agent received or sent. Fails with `part_not_found`. */
export async function findPart(account: AccountStore, partId: string): Promise<PartContent> {
  const { agentId } = callingAgent(account.actor)
  const messageId = partId.slice(0, Math.max(0, partId.lastIndexOf('.')))
  const { parts } = account.read
  const found = await parts.received(agentId, messageId, partId) ?? await parts.sent(agentId, messageId, partId)
  const part = found && partIn(found, messageId, partId)
  if (!part || !found) {
    throw new GridError('part_not_found', 'No message that you sent or received has a part with this id.')
  }
  return contentOf(found, part, (upload, n) => account.read.uploads.rowOfMessage(agentId, messageId, upload, n))
}

/** Returns the content of a part. `rowOf` reads one row of an upload of the message. */
export function contentOf(
  { a2a }: PartOfMessage,
  { id, mediaType, encoding, content, bytes: length }: StoredPart,
  rowOf: (upload: string, n: number) => Promise<Uint8Array | undefined>,
): PartContent {
  const handle = handleIn(a2a, id)
  const about = { id, mediaType, filename: handle?.filename }
  if (encoding === 'upload') {
    const read = (n: number) => rowOf(content, n)
    return {
      ...about,
      length,
      bytes: (first, end) => bytesBetween(read, first, end),
      pieces: (first, end) => piecesBetween(read, first, end),
    }
  }
  // Cleaned, because older versions stored parts with invisible characters. A part without its own handle is JSON
  // written by the grid, like data.
  const isText = handle?.kind === 'text' || handle?.kind === 'url'
  const text = encoding === 'base64' ? undefined : isText ? withoutInvisible(content) : cleanedJson(content)
  const bytes = text === undefined ? Buffer.from(content, 'base64') : Buffer.from(text)
  return {
    ...about,
    text,
    length: bytes.length,
    bytes: (first, end) => Promise.resolve(bytes.subarray(first, end)),
    pieces: (first, end) => piecesOf(bytes.subarray(first, end)),
  }
}

/** Returns the handle of a separately stored part, or the inline part itself, which can also have a file name. */
function handleIn(a2a: string | null, partId: string): Partial<PartHandle> | undefined {
  try {
    const { parts = [] } = JSON.parse(a2a ?? '{}') as { parts?: Partial<PartHandle>[] }
    const inline = parts[Number(partId.split('.')[1])]
    return inline && inline.part_id === undefined ? inline : parts.find((part) => part.part_id === partId)
  } catch {
    return undefined
  }
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}

/** Cleans the values in JSON. Parses the JSON first, because it escapes control characters. */
function cleanedJson(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    const cleaned = withoutInvisibleIn(value)
    return cleaned === value ? json : JSON.stringify(cleaned)
  } catch {
    return withoutInvisible(json)
  }
}

/** Returns a part as stored, or taken from the details of its message. */
export function partIn({ part, a2a }: PartOfMessage, messageId: string, partId: string): StoredPart | undefined {
  if (part) return part
  if (a2a === null) return undefined
  let split: SplitDetails
  try {
    split = splitDetails(messageId, withoutInvisibleIn(JSON.parse(a2a)))
  } catch {
    // The row is damaged; reads do not show its message either.
    return undefined
  }
  if (partId === `${messageId}.details`) return wholePart(partId, split.inline)
  return split.apart.find(({ id }) => id === partId)
}

interface PartPage {
  part_id: string
  mediaType: string
  bytes: number
  /** Text is paged by UTF-16 units, bytes by bytes; `offset` and `left` use the same unit. */
  text?: string
  base64?: string
  left: number
  next_offset?: number
}

const pageChars = 16_000
const pageBytes = pageChars / 4 * 3

export async function readPart(account: AccountStore, partId: string, offset = 0): Promise<PartPage> {
  const part = await findPart(account, partId)
  const length = part.text?.length ?? part.length
  requireOffset(offset, length)
  const page = part.text === undefined ? await pageOfBytes(part, offset) : pageOfText(part.text, offset)
  const { end, ...content } = page
  return {
    part_id: partId,
    mediaType: part.mediaType,
    bytes: part.length,
    ...content,
    left: length - end,
    ...(end < length && { next_offset: end }),
  }
}

function pageOfText(text: string, offset: number): { end: number; text: string } {
  const end = endOfPiece(text, offset, pageChars)
  return { end, text: text.slice(offset, end) }
}

/** Returns a page of bytes. A text file is returned as text, but is still paged by bytes. */
async function pageOfBytes(
  { mediaType, length, bytes }: PartContent,
  offset: number,
): Promise<{ end: number; text: string } | { end: number; base64: string }> {
  const page = await bytes(offset, Math.min(offset + pageBytes + 1, length))
  const size = Math.min(page.length, pageBytes)
  let whole = size
  // Continuation bytes of a UTF-8 character begin with these bits.
  while (whole > size - 4 && page[whole] >> 6 === 0b10) whole--
  const text = isTextType(mediaType) ? textOfBytes(page.subarray(0, whole)) : undefined
  return text === undefined
    ? { end: offset + size, base64: page.subarray(0, size).toString('base64') }
    : { end: offset + whole, text: withoutInvisible(text) }
}

export function requireOffset(offset: number, length: number): void {
  if (offset === 0 || offset < length) return
  throw invalidInput(`The offset is beyond the end: the length is ${length}.`, 'offset')
}

/** Returns the end of a piece of at most `maxChars`. It splits no character and includes at least one. */
export function endOfPiece(text: string, offset: number, maxChars: number): number {
  const end = offset + maxChars
  if (end >= text.length) return text.length
  const splitsPair = /[\ud800-\udbff]/.test(text[end - 1]) && /[\udc00-\udfff]/.test(text[end])
  if (!splitsPair) return end
  return end - 1 > offset ? end - 1 : end + 1
}
