/** Splits off large parts of messages, which are stored separately. See docs/protocol/messages.md, "Large parts". */
import { Buffer } from 'node:buffer'
import { isBase64 } from '../../lib/encoding.ts'
import type { NewMessage, StoredPart } from '../../store/account/new-message.ts'
import type { A2aDetails } from './outgoing-message.ts'

/** Maximum bytes of a message's A2A details in a read, as JSON in UTF-8. */
export const maxInlineBytes = 8 * 1024
/** Each member of the details other than parts stays inline up to this size, so that parts have room. */
const maxFieldBytes = 1536
/** The name and metadata of a longer handle are only in the stored part. */
const maxHandleBytes = 512
const restBytes = 256
const mediaTypePattern = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.+-]+)*$/
const maxMediaTypeLength = 100

export interface PartHandle {
  /**
   * The content of the part: `text`, `raw` (bytes), `url` or `data`; `part`, a complete part; `parts`, all parts from
   * this position on; or the name of a member of the A2A details, or `details`. Complete parts and members are JSON.
   */
  kind: string
  filename?: string
  mediaType?: string
  bytes: number
  part_id: string
  metadata?: unknown
}

interface UploadPart {
  upload: string
  filename?: string
  mediaType?: string
}

export function isUploadPart(part: unknown): part is UploadPart {
  return typeof (part as Partial<UploadPart>).upload === 'string'
}

export function hasUploads({ parts }: { parts?: unknown }): boolean {
  return Array.isArray(parts) && parts.some(isUploadPart)
}

/** Whether details have members that only A2A messages can have. See `A2aDetails`. */
export function hasMoreThanParts(details: object): boolean {
  return Object.keys(details).some((name) => !['parts', 'choices', 'hasLongText'].includes(name))
}

export interface SplitDetails {
  inline: Record<string, unknown>
  apart: StoredPart[]
}

/** Moves large parts out of the details. A second split changes nothing. Part ids are derived from the message. */
export function splitDetails(messageId: string, details: Record<string, unknown>): SplitDetails {
  if (!hasUploads(details) && sizeOf(details) <= maxInlineBytes) return { inline: details, apart: [] }
  const apart: StoredPart[] = []
  const setApart = (kind: string, key: string | number, content: unknown): PartHandle => {
    const part = wholePart(`${messageId}.${key}`, content)
    apart.push(part)
    return handleOf(kind, part)
  }

  const { parts, ...others } = details
  const inline: Record<string, unknown> = {}
  const more: PartHandle[] = []
  for (const [name, value] of Object.entries(others)) {
    if (value !== undefined && sizeOf(value) > maxFieldBytes) more.push(setApart(name, name, value))
    else inline[name] = value
  }
  if (more.length > 0) inline.more = more
  if (!Array.isArray(parts)) return { inline, apart }

  const shown: unknown[] = []
  inline.parts = shown
  let room = maxInlineBytes - sizeOf(inline) - restBytes
  for (const [n, part] of parts.entries()) {
    const size = sizeOf(part) + 1
    const isUpload = isUploadPart(part)
    const stored = isUpload || size > room ? storedPart(`${messageId}.${n}`, part) : undefined
    const handleSize = stored ? sizeOf(stored.handle) + 1 : size
    // Handles for many small parts would cost the reader more than the parts.
    if (handleSize > room || (stored && !isUpload && size <= maxHandleBytes)) {
      const rest = parts.slice(n).map((one, more) => {
        if (!isUploadPart(one)) return one
        const { part, handle } = storedPart(`${messageId}.${n + more}`, one)
        apart.push(part)
        return handle
      })
      shown.push(setApart('parts', 'rest', rest))
      break
    }
    if (stored) apart.push(stored.part)
    shown.push(stored?.handle ?? part)
    room -= handleSize
  }
  return { inline, apart }
}

/** Returns a member of the details of a new message, inline or separate. */
export function detailOf({ id, a2a, largeParts }: NewMessage, name: keyof A2aDetails): unknown {
  const apart: StoredPart[] = largeParts === null ? [] : JSON.parse(largeParts)
  const part = apart.find((part) => part.id === `${id}.${name}`)
  return part ? JSON.parse(part.content) : JSON.parse(a2a ?? '{}')[name]
}

/** Returns a part in 1.0 form: its content, and its handle with the other members. */
export function storedPart(id: string, part: unknown): { part: StoredPart; handle: PartHandle } {
  const stored = contentPart(id, part)
  if (stored) {
    const { filename, mediaType, metadata } = part as Record<string, unknown>
    const handle = {
      kind: stored.kind,
      ...(filename !== undefined && { filename: String(filename) }),
      ...(mediaType !== undefined && { mediaType: String(mediaType) }),
      bytes: stored.part.bytes,
      part_id: id,
      ...(metadata !== undefined && { metadata }),
    }
    if (sizeOf(handle) <= maxHandleBytes) return { part: stored.part, handle }
  }
  const whole = wholePart(id, part)
  return { part: whole, handle: handleOf('part', whole) }
}

/** Returns the content of a part without its other members. Undefined if only JSON can hold it. */
function contentPart(id: string, part: unknown): { kind: string; part: StoredPart } | undefined {
  if (typeof part !== 'object' || part === null) return undefined
  const { upload, bytes: length, text, raw, url, data, mediaType } = part as Record<string, unknown>
  const type = (usual: string) =>
    typeof mediaType === 'string' && mediaType.length <= maxMediaTypeLength && mediaTypePattern.test(mediaType)
      ? mediaType
      : usual
  if (typeof upload === 'string') {
    const stored = { id, mediaType: type('application/octet-stream'), encoding: 'upload' as const, content: upload }
    return { kind: 'raw', part: { ...stored, bytes: Number(length) } }
  }
  if (typeof raw === 'string') {
    const bytes = bytesOf(raw)
    return bytes && {
      kind: 'raw',
      part: {
        id,
        mediaType: type('application/octet-stream'),
        encoding: 'base64',
        content: bytes.toString('base64'),
        bytes: bytes.length,
      },
    }
  }
  if (typeof text === 'string') return textPart('text', id, type('text/plain'), text)
  // The media type of a `url` part describes the document at the address, not the address itself.
  if (typeof url === 'string') return textPart('url', id, 'text/uri-list', url)
  return data === undefined ? undefined : textPart('data', id, type('application/json'), JSON.stringify(data))
}

/** Returns a text part. Text with U+0000 becomes JSON, which escapes it, because databases truncate text there. */
function textPart(kind: string, id: string, mediaType: string, text: string) {
  if (text.includes('\0')) return undefined
  const content = text.toWellFormed()
  return { kind, part: { id, mediaType, encoding: 'utf8' as const, content, bytes: Buffer.byteLength(content) } }
}

export function wholePart(id: string, value: unknown): StoredPart {
  const content = JSON.stringify(value)
  return { id, mediaType: 'application/json', encoding: 'utf8', content, bytes: Buffer.byteLength(content) }
}

export function handleOf(kind: string, { id, mediaType, bytes }: StoredPart): PartHandle {
  return { kind, mediaType, bytes, part_id: id }
}

/** Decodes base64 of either alphabet, with or without padding. Returns undefined for anything else. */
function bytesOf(base64: string): Buffer | undefined {
  return isBase64(base64) ? Buffer.from(base64, 'base64') : undefined
}

export function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
