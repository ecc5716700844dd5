/** Reads request bodies up to a limit, and checks them before parsing. */
import { parse as parseJson } from 'secure-json-parse'
import { GridError, invalidInput } from '../../errors.ts'
import { SharedBudget } from '../limits/shared-budget.ts'
import { withoutTinyChunks } from './tiny-chunks.ts'

/** Shared by all bodies, because creating a decoder is as expensive as decoding a message. It is stateless. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The limits on one body. See docs/security.md, "Requests". */
export interface BodyLimits {
  maxBytes: number
  maxDepth: number
  maxTokens: number
}

export const apiLimits: BodyLimits = { maxBytes: 256 * 1024, maxDepth: 32, maxTokens: 5_000 }
/** Limits for a message with parts, which are a third larger in base64. */
export const messageLimits: BodyLimits = { ...apiLimits, maxBytes: 512 * 1024 }
/** Limits for a message with files. */
export const taskLimits: BodyLimits = { ...apiLimits, maxBytes: 4 * 1024 * 1024 }
export const formLimits: BodyLimits = { maxBytes: 16 * 1024, maxDepth: 8, maxTokens: 500 }

/**
 * Maximum size of a small body. Small bodies arrive in one or two pieces, and are counted by their declared length.
 * Larger bodies are counted as they arrive.
 */
const smallBytes = 16 * 1024

/** With this divisor, a single caller may use at most an eighth of the budget. */
const shareDivisor = 7

interface Held {
  readonly caller: string
  bytes: number
}

/**
 * Reads request bodies. Limits how many bytes the process holds from the start of reading until the response. The edge
 * calls `begin` and `release` for each request.
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
   * Reads a body as text. Fails with `payload_too_large`, with `invalid_request` if it is not UTF-8, ends early or has
   * tiny chunks, or with `unavailable` if too many bodies are being processed. Also limits the bytes actually read.
   */
  async readText(request: Request, limits: BodyLimits): Promise<string> {
    const bytes = await this.readBytes(request, limits)
    try {
      return utf8.decode(bytes)
    } catch {
      throw new GridError('invalid_request', 'The body is not UTF-8.')
    }
  }

  /** Reads a body with any content. Fails like `readText`. */
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

  /** Reserves this many more bytes for a request. Fails with `unavailable` if this exceeds the budget. */
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

  /** Call this after the response. Does nothing if the request had no body or was already released. */
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

/** Yields a body in pieces. Fails with `invalid_request` as soon as it arrives in too many tiny chunks. */
export async function* chunksOf({ body }: Request): AsyncGenerator<Uint8Array> {
  if (body) yield* withoutTinyChunks(body)
}

/** Returns a request's media type in lower case, without parameters. */
export function mediaType(request: Request): string {
  return (request.headers.get('content-type') ?? '').split(';')[0].trim().toLowerCase()
}

/** Fails with `payload_too_large` if the request declares a body that is too large. Does not read the body. */
export function checkDeclaredLength(request: Request, { maxBytes }: Pick<BodyLimits, 'maxBytes'>): void {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge(maxBytes)
}

/**
 * Parses JSON within the limits. Fails with `malformed_json`, also for keys that change a prototype, with
 * `invalid_request` if the JSON is too deep or has too many values, or with `invalid_input` for a number that parsing
 * changes.
 */
export function parseBody(text: string, limits: BodyLimits): unknown {
  checkLimits(text, limits, refuseNumber)
  return parsed(text)
}

/**
 * Parses JSON like `parseBody`, but returns the error for a number that parsing changed as `refused`, so that the
 * response can name the call. The error's `details.field` is the number's path.
 */
export function parseCall(text: string, limits: BodyLimits): { value: unknown; refused?: GridError } {
  let refused: GridError | undefined
  checkLimits(text, limits, (_, from) => {
    refused ??= unkeptNumber(pathTo(text, from))
  })
  return { value: parsed(text), refused }
}

/**
 * Parses a server's response like `parseBody`. Numbers that parsing would change become texts, because nobody can
 * resend the response. `text` is the JSON that was parsed.
 */
export function parseAnswer(given: string, limits: BodyLimits): { value: unknown; text: string } {
  const pieces: string[] = []
  let at = 0
  checkLimits(given, limits, (_, from, end) => {
    pieces.push(given.slice(at, from), `"${given.slice(from, end)}"`)
    at = end
  })
  const text = pieces.join('') + given.slice(at)
  return { value: parsed(text), text }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text, { protoAction: 'error', constructorAction: 'error' })
  } catch {
    throw new GridError('malformed_json', 'The body is not valid JSON.')
  }
}

async function readWhole(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await request.arrayBuffer())
}

/** Reports an incomplete body. Runtimes fail differently when a caller disconnects, which is not the grid's fault. */
function cutOff(error: unknown): never {
  if (error instanceof GridError) throw error
  throw new GridError('invalid_request', 'The body ended early.')
}

/** Maximum length of a member's name as written in the JSON. */
const maxNameLength = 1_000

type OnNumber = (text: string, from: number, end: number) => void

/**
 * Checks depth and size before parsing, because the parser handles deep values, but code that traverses them does not.
 * Calls `onUnkept` for each number that parsing would change.
 */
function checkLimits(text: string, { maxDepth, maxTokens }: BodyLimits, onUnkept: OnNumber): void {
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
    } else if (isDigit(char)) {
      const from = text.charCodeAt(i - 1) === minus ? i - 1 : i
      while (isOfNumber(text.charCodeAt(i + 1))) i++
      if (i - from >= shortestUnkept - 1 && !isKept(text.slice(from, i + 1))) onUnkept(text, from, i + 1)
    }
  }
}

/** The length of the shortest number that parsing can change. */
const shortestUnkept = '1e309'.length

/** Whether parsing preserves an integer's value, or keeps any other number finite. Decimals are rounded to a double. */
function isKept(digits: string): boolean {
  const number = Number(digits)
  if (Number.isNaN(number) || Number.isSafeInteger(number)) return true
  return Number.isFinite(number) && (!/^-?\d+$/.test(digits) || BigInt(digits) === BigInt(number))
}

function refuseNumber(text: string, from: number): void {
  throw unkeptNumber(pathTo(text, from))
}

/** Returns the error for a number that parsing would change. */
export function unkeptNumber(path: string): GridError {
  return invalidInput(`${path || 'The body'} has more digits than a number keeps. Send it as text.`, path)
}

/** Returns the path of the value that begins at the position `end`, such as `data.ids.0`. */
function pathTo(text: string, end: number): string {
  const path: (string | number)[] = []
  let name = ''
  for (let i = 0; i < end; i++) {
    const char = text[i]
    if (char === '"') {
      const from = i++
      while (i < end && text[i] !== '"') i += text[i] === '\\' ? 2 : 1
      name = text.slice(from, i + 1)
    } else if (char === '{') path.push('')
    else if (char === '[') path.push(0)
    else if (char === '}' || char === ']') path.pop()
    else if (char === ':') path[path.length - 1] = nameOf(name)
    else if (char === ',' && typeof path.at(-1) === 'number') path[path.length - 1] = Number(path.at(-1)) + 1
  }
  return path.join('.')
}

function nameOf(text: string): string {
  try {
    return String(parseJson(text)).slice(0, maxPathName)
  } catch {
    return ''
  }
}

const maxPathName = 64

function isDigit(char: number): boolean {
  return char >= 48 && char <= 57
}

/** Whether a character is a digit, a point, a sign, or the start of an exponent. */
function isOfNumber(char: number): boolean {
  return isDigit(char) || char === 46 || char === 43 || char === 45 || (char | 32) === 101
}

const [quote, backslash, comma, colon, openBrace, closeBrace, openBracket, closeBracket, minus] = [...'"\\,:{}[]-'].map(
  (
    char,
  ) => char.charCodeAt(0),
)

function tooLarge(maxBytes: number): GridError {
  return new GridError('payload_too_large', `The body is larger than ${maxBytes / 1024} KiB.`)
}
