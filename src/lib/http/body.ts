/** Request bodies: read up to a limit, and checked before they are parsed. */
import { parse as parseJson } from 'secure-json-parse'
import { GridError } from '../../errors.ts'
import { SharedBudget } from '../limits/shared-budget.ts'
import { withoutTinyChunks } from './tiny-chunks.ts'

/** Shared, because creating one costs as much as decoding a message. It has no state between two calls. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Limits of one body. See docs/security.md, "Requests". */
export interface BodyLimits {
  maxBytes: number
  maxDepth: number
  maxTokens: number
}

export const apiLimits: BodyLimits = { maxBytes: 256 * 1024, maxDepth: 32, maxTokens: 5_000 }
/** A message with parts, which take a third more as base64. */
export const messageLimits: BodyLimits = { ...apiLimits, maxBytes: 512 * 1024 }
/** A message with files. */
export const taskLimits: BodyLimits = { ...apiLimits, maxBytes: 4 * 1024 * 1024 }
export const formLimits: BodyLimits = { maxBytes: 16 * 1024, maxDepth: 8, maxTokens: 500 }

/** Bodies up to this size come in one piece or two, and are counted when they are declared; larger ones as they come. */
const smallBytes = 16 * 1024

/** A caller alone holds at most an eighth of the budget. */
const shareDivisor = 7

interface Held {
  readonly caller: string
  bytes: number
}

/**
 * Reads request bodies, and limits how many bytes of them the process holds, from before they are read until their
 * requests are answered. The edge begins and releases each request.
 */
export class Bodies {
  readonly #budget: SharedBudget
  readonly #byRequest = new WeakMap<Request, Held>()

  constructor(maxBytes = 64 * 1024 * 1024) {
    this.#budget = new SharedBudget(maxBytes, shareDivisor)
  }

  get bytes(): number {
    return this.#budget.held
  }

  begin(request: Request, caller: string): void {
    this.#byRequest.set(request, { caller, bytes: 0 })
  }

  /**
   * Read a body as text. Fails with `payload_too_large`, with `invalid_request` if it is not UTF-8, ends early or comes in
   * tiny chunks, or with `unavailable` if too many bodies are in flight. A `Content-Length` within the limit is not trusted.
   */
  async readText(request: Request, limits: BodyLimits): Promise<string> {
    const bytes = await this.readBytes(request, limits)
    try {
      return utf8.decode(bytes)
    } catch {
      throw new GridError('invalid_request', 'The body is not UTF-8.')
    }
  }

  /** The same for a body of any content. */
  async readBytes(request: Request, limits: Pick<BodyLimits, 'maxBytes'>): Promise<Uint8Array<ArrayBuffer>> {
    checkDeclaredLength(request, limits)
    const { maxBytes } = limits
    const declared = Number(request.headers.get('content-length') ?? NaN)
    const isSmall = declared >= 0 && declared <= smallBytes && !request.headers.has('transfer-encoding')
    if (isSmall) this.#hold(request, declared)
    const bytes = await (isSmall ? readWhole(request) : this.#readUpTo(request, maxBytes)).catch(cutOff)
    if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes)
    return bytes
  }

  /** Hold this many bytes more for a request. Fails with `unavailable` if these are too many. */
  #hold(request: Request, bytes: number): void {
    let held = this.#byRequest.get(request)
    if (!held) this.#byRequest.set(request, held = { caller: 'any', bytes: 0 })
    if (!this.#budget.take(held.caller, bytes)) {
      throw new GridError('unavailable', 'The grid is reading too many requests. Repeat the call in a second.', {
        retryAfterSeconds: 1,
        notExecuted: true,
      })
    }
    held.bytes += bytes
  }

  /** The request was answered. Does nothing if it had no body, or was released. */
  release(request: Request): void {
    const held = this.#byRequest.get(request)
    if (!held) return
    if (held.bytes > 0) this.#budget.release(held.caller, held.bytes)
    this.#byRequest.delete(request)
  }

  async #readUpTo(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of chunksOf(request)) {
      size += chunk.byteLength
      if (size > maxBytes) throw tooLarge(maxBytes)
      this.#hold(request, chunk.byteLength)
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
}

/** A body in pieces. Fails with `invalid_request` as soon as it comes in too many tiny chunks. */
export async function* chunksOf({ body }: Request): AsyncGenerator<Uint8Array> {
  if (body) yield* withoutTinyChunks(body)
}

/** The media type of a request in lower case, without parameters. */
export function mediaType(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase()
}

/** Fails with `payload_too_large` if the request says that its body is too large. Nothing is read. */
export function checkDeclaredLength(request: Request, { maxBytes }: Pick<BodyLimits, 'maxBytes'>): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

/**
 * Parse JSON within the limits. Fails with `malformed_json`, also for keys that change a prototype, or with
 * `invalid_request` if it is too deep or has too many values.
 */
export function parseBody(text: string, limits: BodyLimits): unknown {
  checkLimits(text, limits)
  try {
    return parseJson(text, { protoAction: 'error', constructorAction: 'error' })
  } catch {
    throw new GridError('malformed_json', 'The body is not valid JSON.')
  }
}

async function readWhole(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await request.arrayBuffer())
}

/** Each runtime fails in its own way when the caller leaves or sends a broken body. That is no fault of the grid. */
function cutOff(error: unknown): never {
  if (error instanceof GridError) throw error
  throw new GridError('invalid_request', 'The body ended early.')
}

/** Of the name of a member, as it is written. */
const maxNameLength = 1_000

/** Checks depth and size before parsing: the parser copes with deep values, but code that traverses them does not. */
function checkLimits(text: string, { maxDepth, maxTokens }: BodyLimits): void {
  let depth = 0
  let tokens = 0
  let inString = false
  let stringFrom = 0
  let stringLength = 0
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === backslash) i++
      else if (char === quote) {
        inString = false
        stringLength = i - stringFrom
      }
    } else if (char === quote) {
      inString = true
      stringFrom = i + 1
    } else if (char === colon && stringLength > maxNameLength) {
      throw new GridError('invalid_request', `The JSON has a name of more than ${maxNameLength} characters.`)
    } else if (char === openBrace || char === openBracket) {
      if (++depth > maxDepth) throw new GridError('invalid_request', `The JSON is nested deeper than ${maxDepth}.`)
    } else if (char === closeBrace || char === closeBracket) depth--
    else if (char === comma && ++tokens > maxTokens) {
      throw new GridError('invalid_request', `The JSON has more than ${maxTokens} values.`)
    }
  }
}

const [quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\,:{}[]'].map((
  char,
) => char.charCodeAt(0))

function tooLarge(maxBytes: number): GridError {
  return new GridError('payload_too_large', `The body is larger than ${maxBytes / 1024} KiB.`)
}
