/** Random mutations of a request. */
import { generator } from '../chaos/plan.ts'
import type { FuzzRequest } from './corpus.ts'

/** A serialized request. */
export interface WrittenRequest {
  bytes: Uint8Array
  /** Whether the bytes may be an incomplete or invalid HTTP request. */
  isBroken: boolean
}

type Random = ReturnType<typeof randomOf>

/** Returns the random choices for one request, which depend only on the seed and the request's number. */
export function randomOf(seed: number, n: number) {
  const next = generator(seed ^ Math.imul(n + 1, 0x9e3779b1))
  /** Returns an integer from 0 up to but excluding `n`. */
  const below = (n: number) => Math.floor(next() * n)
  return {
    below,
    chance: (probability: number) => next() < probability,
    pick: <T>(items: readonly T[]): T => items[below(items.length)],
  }
}

const oddTexts = [
  ...['', ' ', '\0', 'a\0b', '\r\n', '\u2028', '\ufeff', '\ud800', 'e\u0301', '\u202e', '\u{e0041}', '\u{1f469}\u200d'],
  ...'0 -1 1e400 true null NaN % %00 %zz %c0%af .. ../../etc/passwd / //x \\ ? #x @ @bob # * \' " <b> ${x} {{x}}'
    .split(' '),
  ...'__proto__ constructor toString grid://inbox file:///etc/passwd http://[::1 javascript:x http://a:b@c 1h'.split(
    ' ',
  ),
  ...'https://x.example:99999 999999999999999999999h 2026-07-28 2025-11-25 1.0 0.3 application/json */*'.split(' '),
  ...['text/event-stream', 'bytes=9-1', 'Bearer', 'Basic Og==', "' OR 1=1 --"],
  ...['x'.repeat(300), 'x'.repeat(70_000), '\u00e9'.repeat(5_000)],
]
const oddValues: unknown[] = [
  ...[null, true, false, 0, -0, -1, 1.5, 2 ** 53, -(2 ** 63), 1e308, [], {}, [[]], [null], { a: { b: [1] } }],
  ...[Array(300).fill('x'), Array(300).fill({}), { constructor: 1 }, { toString: 1 }, { length: -1 }],
]
const oddHeaders = [
  ...'Accept Accept-Encoding Authorization Content-Type Content-Encoding Cookie Expect Forwarded Host'.split(' '),
  ...'If-None-Match If-Range Idempotency-Key Last-Event-ID MCP-Protocol-Version Mcp-Method Mcp-Name'.split(' '),
  ...'Mcp-Session-Id A2A-Version A2A-Extensions Origin Range Sec-Fetch-Site Upgrade X-Forwarded-For'.split(' '),
  ...'X-HTTP-Method-Override X-Request-Id __proto__'.split(' '),
]
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'get']

/** Applies up to four mutations to a request. */
export function mutated(base: FuzzRequest, host: string, random: Random): WrittenRequest {
  const request = structuredClone(base)
  for (let n = random.below(5); n > 0; n--) {
    if (request.body && random.chance(0.75)) changeBody(request, random)
    // The path and the method are mutated less often, because then the request often ends before it reaches its target.
    else random.pick([changeHeader, changeHeader, changeHeader, changeTarget, changeMethod])(request, random)
  }
  const { bytes } = written(request, host, random.chance(0.1))
  if (!random.chance(0.03)) return { bytes, isBroken: false }
  const at = random.below(bytes.length)
  const noise = random.chance(0.5) ? [bytes.subarray(at + 1)] : []
  return { bytes: Buffer.concat([bytes.subarray(0, at), ...noise]), isBroken: true }
}

function changeBody(request: FuzzRequest, random: Random): void {
  const body = request.body!
  if ('text' in body || random.chance(0.1)) request.body = { text: broken(textOf(body), random) }
  else if ('json' in body) body.json = changedValue(body.json, random)
  else changeFields(body.fields, random)
}

/** Replaces, removes or duplicates a part of a value. */
function changedValue(value: unknown, random: Random): unknown {
  const isContainer = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isContainer(value) || random.chance(0.08)) {
    return random.chance(0.5) ? random.pick(oddTexts) : structuredClone(random.pick(oddValues))
  }
  const object = value as Record<string, unknown>
  const keys = Object.keys(object)
  const containers = keys.filter((key) => isContainer(object[key]))
  // Prefer nested values, because only the grid itself checks them.
  const key = random.pick(containers.length > 0 && random.chance(0.7) ? containers : keys)
  const kind = random.below(10)
  if (kind === 0) delete object[key]
  else if (kind === 1) object[random.pick(oddTexts)] = structuredClone(object[key])
  else object[key] = changedValue(object[key], random)
  return value
}

function changeFields(fields: [string, string][], random: Random): void {
  const at = random.below(fields.length)
  const [name, value] = fields[at] ?? ['x', '']
  // A form's CSRF token is not mutated, because the request would only be refused.
  if (name === 'csrf') return
  const text = random.pick(oddTexts)
  fields.splice(
    at,
    random.below(2),
    ...random.pick<[string, string][]>([[], [[text, value]], [[name, text]], [[name, text]]]),
  )
}

function changeHeader({ headers }: FuzzRequest, random: Random): void {
  const value = headerText(random.pick(oddTexts))
  const at = random.below(headers.length + 1)
  // The credential usually stays, because a request without a credential covers little code.
  if (['Authorization', 'Cookie'].includes(headers[at]?.[0]) && random.chance(0.8)) return
  const name = headers[at]?.[0] ?? random.pick(oddHeaders)
  headers.splice(
    at,
    random.below(2),
    ...random.pick<[string, string][]>([[], [[random.pick(oddHeaders), value]], [[name, value]]]),
  )
}

function changeTarget(request: FuzzRequest, random: Random): void {
  const text = random.pick(oddTexts).slice(0, 2_000)
  const encoded = random.chance(0.7) ? encodeURIComponent(text.toWellFormed()) : headerText(text).replaceAll(' ', '+')
  const parts = request.target.split(/(?=[/?&=])/)
  const at = random.below(parts.length)
  parts[at] = random.pick(['', parts[at] + encoded, `${parts[at][0]}${encoded}`, `${parts[at]}?${encoded}=${encoded}`])
  request.target = `/${parts.join('').replace(/^\//, '')}`
}

function changeMethod(request: FuzzRequest, random: Random): void {
  request.method = random.pick(methods)
}

/** Replaces, removes or duplicates some characters of a text. */
function broken(text: string, random: Random): string {
  const at = random.below(text.length + 1)
  const end = at + random.below(4)
  return random.pick([
    text.slice(0, at),
    text.slice(0, at) + text.slice(end),
    text.slice(0, at) + random.pick(oddTexts) + text.slice(end),
    text.slice(0, end) + text.slice(at),
  ])
}

/** Removes the characters that would end a header. */
function headerText(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, '').slice(0, 9_000)
}

function textOf(body: NonNullable<FuzzRequest['body']>): string {
  if ('json' in body) return JSON.stringify(body.json) ?? ''
  return 'fields' in body ? new URLSearchParams(body.fields).toString() : body.text
}

/** Serializes a request without mutations. */
export function written(
  { method, target, headers, body }: FuzzRequest,
  host: string,
  isChunked = false,
): WrittenRequest {
  const content = Buffer.from(body ? textOf(body) : '')
  const sizeOrNone = body ? [['Content-Length', `${content.length}`]] : []
  const framing = isChunked ? [['Transfer-Encoding', 'chunked']] : sizeOrNone
  const all = [['Host', host], ['Connection', 'close'], ...headers, ...framing]
  const head = `${method} ${target} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  const chunk = content.length > 0 ? [`${content.length.toString(16)}\r\n`, content, '\r\n'] : []
  const parts = isChunked ? [head, ...chunk, '0\r\n\r\n'] : [head, content]
  return { bytes: Buffer.concat(parts.map((part) => Buffer.from(part))), isBroken: false }
}
