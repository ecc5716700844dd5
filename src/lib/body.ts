/** Request bodies: bounded before they are read, and checked before they are parsed. */
import { parse as parseJson } from 'secure-json-parse'
import { GridError } from '../errors.ts'

/** Kept, because making one costs as much as reading a message with it. It holds nothing between two texts. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Limits of one body. Security: "Limits". */
export interface BodyLimits {
  maxBytes: number
  maxDepth: number
  maxTokens: number
}

export const apiLimits: BodyLimits = { maxBytes: 256 * 1024, maxDepth: 32, maxTokens: 5_000 }
export const formLimits: BodyLimits = { maxBytes: 16 * 1024, maxDepth: 8, maxTokens: 500 }

/** The media type of a request in lower case, without parameters. */
export function mediaType(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase()
}

/**
 * The body as text. Fails with `payload_too_large`, or `invalid_request` when it is not UTF-8.
 * The length that the client declares is believed only when it is too large.
 */
export async function readText(request: Request, { maxBytes }: BodyLimits): Promise<string> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const declared = request.headers.has('content-length') && !request.headers.has('transfer-encoding')
  const bytes = declared ? new Uint8Array(await request.arrayBuffer()) : await readBounded(request, maxBytes)
  if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes)
  try {
    return utf8.decode(bytes)
  } catch {
    throw new GridError('invalid_request', 'The body is not UTF-8.')
  }
}

/**
 * Parse JSON whose depth and size are harmless and which names no prototype.
 * Fails with `malformed_json`, or `invalid_request` when it is too deep or has too many values.
 */
export function parseBody(text: string, limits: BodyLimits): unknown {
  checkShape(text, limits)
  try {
    return parseJson(text, { protoAction: 'error', constructorAction: 'error' })
  } catch {
    throw new GridError('malformed_json', 'The body is not valid JSON.')
  }
}

async function readBounded(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  const all = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    all.set(chunk, at)
    at += chunk.byteLength
  }
  return all
}

/** One pass over the text, because deep values break those who walk them, not the parser. */
function checkShape(text: string, { maxDepth, maxTokens }: BodyLimits): void {
  let depth = 0
  let tokens = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === backslash) i++
      else if (char === quote) inString = false
    } else if (char === quote) inString = true
    else if (char === openBrace || char === openBracket) {
      if (++depth > maxDepth) throw new GridError('invalid_request', `The JSON is nested deeper than ${maxDepth}.`)
    } else if (char === closeBrace || char === closeBracket) depth--
    else if (char === comma && ++tokens > maxTokens) {
      throw new GridError('invalid_request', `The JSON has more than ${maxTokens} values.`)
    }
  }
}

const [quote, backslash, comma, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\,{}[]'].map((char) =>
  char.charCodeAt(0)
)

function tooLarge(maxBytes: number): GridError {
  return new GridError('payload_too_large', `The body is larger than ${maxBytes / 1024} KiB.`)
}
