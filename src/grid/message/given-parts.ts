/** The parts that an agent adds to a message or task update. See docs/protocol/messages.md, "Parts". */
import { Buffer } from 'node:buffer'
import { GridError, invalidInput } from '../../errors.ts'
import { isId } from '../../lib/id.ts'
import { maxNameBytes } from '../../lib/input.ts'
import type { GivenPart, Part } from './part.ts'
import { noUpload } from './open-upload.ts'
import { asPart } from './part.ts'

/** Maximum decoded bytes of all parts in a call. */
const maxPartsBytes = 256 * 1024
const maxUrlLength = 2_048

/** Converts parts of `partsInput` to 1.0 form. Fails with `invalid_input` or `payload_too_large`. */
export function givenParts(given: readonly Record<string, unknown>[], maxBytes = maxPartsBytes): GivenPart[] {
  const parts = given.map((part, n) => givenPart(part, `parts[${n}]`))
  const bytes = parts.reduce((sum, part) => sum + bytesOf({ ...part }), 0)
  if (bytes <= maxBytes) return parts
  throw new GridError('payload_too_large', `The parts have ${bytes} bytes; at most ${maxBytes} fit in a call.`)
}

const known = ['text', 'raw', 'url', 'data', 'upload_id', 'part_id', 'mediaType', 'filename', 'metadata', 'kind']

function givenPart(given: Record<string, unknown>, field: string): GivenPart {
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw invalidInput(
      `A part has text, raw, url, data or upload_id, mediaType and filename, and no ${unknown.slice(0, 64)}.`,
      'parts',
    )
  }
  // A call takes no parts of other messages, so its `part_id` can only mean an upload.
  const { part_id, upload_id = part_id, ...others } = given
  if (upload_id === undefined) return checked(asPart(given, field))
  if (part_id !== undefined && part_id !== upload_id) {
    throw invalidInput('A part names one upload, with `upload_id`.', 'parts')
  }
  if (typeof upload_id !== 'string' || !isId(upload_id)) throw noUpload()
  const other = ['text', 'raw', 'url', 'data'].find((name) => name in others)
  if (other) throw invalidInput(`A part has an upload or \`${other}\`. Give the other as a part of its own.`, 'parts')
  // `asPart` requires content, so it gets an empty text in place of the upload.
  const { mediaType, filename, metadata } = checked(asPart({ text: '', ...others }))
  return {
    upload: upload_id.toLowerCase(),
    ...(mediaType !== undefined && { mediaType }),
    ...(filename !== undefined && { filename }),
    ...(metadata && { metadata }),
  }
}

function checked(part: Part): Part {
  if ('url' in part && !isHttps(part.url)) throw invalidInput('`url` must be an https address.', 'parts')
  if (Buffer.byteLength(part.filename ?? '') > maxNameBytes) {
    throw invalidInput(`A file name must have at most ${maxNameBytes} bytes.`, 'parts')
  }
  return part
}

function isHttps(url: string): boolean {
  return url.length <= maxUrlLength && URL.canParse(url) && new URL(url).protocol === 'https:'
}

/** Returns the content length of a part in 1.0 form. */
export function bytesOf({ text, raw, url, data }: Record<string, unknown>): number {
  if (typeof raw === 'string') return Buffer.from(raw, 'base64').length
  return Buffer.byteLength(typeof text === 'string' ? text : typeof url === 'string' ? url : JSON.stringify(data) ?? '')
}
