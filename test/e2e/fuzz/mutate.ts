/** Random changes of a request. */
import type { FuzzRequest } from './corpus.ts'
import { methods, oddHeaders, oddTexts, oddValues } from './odd-values.ts'
import type { Random } from './random.ts'

/** The bytes of a request. */
export interface WrittenRequest {
  bytes: Uint8Array
  /** Its answer has no body. */
  isHead: boolean
  /** The bytes may be no complete HTTP request. */
  isBroken: boolean
}

/** A request with another path or method ends before it reaches what it was made for, so these are rare. */
const headChanges = [...Array(6).fill(changeHeader), changeTarget, changeTarget, changeMethod]

/** One to four changes; one request in twenty stays as it is. */
export function mutated(base: FuzzRequest, host: string, random: Random): WrittenRequest {
  const request = structuredClone(base)
  const changes = random.chance(0.05) ? 0 : 1 + random.below(4)
  for (let n = 0; n < changes; n++) {
    if (request.body && random.chance(0.75)) changeBody(request, random)
    else random.pick(headChanges)(request, random)
  }
  return written(request, host, random)
}

function changeBody(request: FuzzRequest, random: Random): void {
  const { body } = request
  if (!body) return
  if (random.chance(0.1)) {
    request.body = { text: broken(bodyText(body), random) }
  } else if ('json' in body) {
    body.json = changedValue(body.json, random)
  } else if ('fields' in body) {
    changeFields(body.fields, random)
  } else body.text = broken(body.text, random)
}

/** A value with one of its parts replaced, removed or doubled. */
function changedValue(value: unknown, random: Random): unknown {
  const isContainer = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  if (!isContainer || random.chance(0.08)) {
    return random.chance(0.5) ? random.pick(oddTexts) : structuredClone(random.pick(oddValues))
  }
  const object = value as Record<string, unknown>
  const keys = Object.keys(object)
  const containers = keys.filter((key) => typeof object[key] === 'object' && object[key] !== null)
  // What is deep inside is what only the grid looks at.
  const key = random.pick(containers.length > 0 && random.chance(0.7) ? containers : keys)
  const kind = random.below(10)
  if (kind === 0 && Array.isArray(value)) value.splice(Number(key), 1)
  else if (kind === 0) delete object[key]
  else if (kind === 1) {
    object[Array.isArray(value) ? String(value.length) : random.pick(oddTexts)] = structuredClone(object[key])
  } else object[key] = changedValue(object[key], random)
  return value
}

function changeFields(fields: [string, string][], random: Random): void {
  const at = random.below(fields.length + 1)
  // The token of a form is what is least interesting to change.
  if (fields[at]?.[0] === 'csrf' && random.chance(0.9)) return
  const text = random.pick(oddTexts)
  switch (random.below(5)) {
    case 0:
      return void fields.splice(at, 1)
    case 1:
      return void fields.splice(at, 0, [fields[at]?.[0] ?? text, text])
    case 2:
      return void fields.splice(at, 1, [text, fields[at]?.[1] ?? ''])
    default:
      return void fields.splice(at, 1, [fields[at]?.[0] ?? 'x', text])
  }
}

function changeHeader({ headers }: FuzzRequest, random: Random): void {
  const value = headerText(random.pick(oddTexts))
  const at = random.below(headers.length + 1)
  // Without its credential, a request says little about what is behind it.
  if (['Authorization', 'Cookie'].includes(headers[at]?.[0]) && random.chance(0.8)) return
  switch (random.below(4)) {
    case 0:
      return void headers.splice(at, 1)
    case 1:
      return void headers.push([random.pick(oddHeaders), value])
    case 2:
      return void headers.splice(at, 0, headers[at] ?? ['X', value])
    default:
      if (headers[at]) {
        headers[at] = [headers[at][0], random.chance(0.5) ? value : headerText(broken(headers[at][1], random))]
      }
  }
}

function changeTarget(request: FuzzRequest, random: Random): void {
  const { target } = request
  const text = random.pick(oddTexts).slice(0, 2_000)
  const encoded = random.chance(0.7) ? encodeURIComponent(text.toWellFormed()) : headerText(text).replaceAll(' ', '+')
  const parts = target.split(/(?=[/?&=])/)
  const at = random.below(parts.length)
  switch (random.below(4)) {
    case 0:
      parts[at] = (parts[at][0] ?? '') + encoded
      break
    case 1:
      parts.splice(at, 1)
      break
    case 2:
      parts.push(target.includes('?') ? '&' : '?', encoded, '=', encoded)
      break
    default:
      parts[at] += encoded
  }
  const changed = parts.join('')
  request.target = changed.startsWith('/') ? changed : `/${changed}`
}

function changeMethod(request: FuzzRequest, random: Random): void {
  request.method = random.pick(methods)
}

/** A text with some of its characters removed, replaced, doubled or added. */
function broken(text: string, random: Random): string {
  const at = random.below(text.length + 1)
  const end = at + random.below(4)
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(0, at) + text.slice(end)
    case 2:
      return text.slice(0, at) + random.pick(oddTexts) + text.slice(end)
    default:
      return text.slice(0, end) + text.slice(at)
  }
}

/** Without the line breaks and NULs that would end a header: bytes that break HTTP are added by `written`. */
function headerText(text: string): string {
  return text.replaceAll(/[\r\n\0]/g, '').slice(0, 9_000)
}

function bodyText(body: NonNullable<FuzzRequest['body']>): string {
  if ('json' in body) return JSON.stringify(body.json) ?? ''
  return 'fields' in body ? new URLSearchParams(body.fields).toString() : body.text
}

function written(request: FuzzRequest, host: string, random: Random): WrittenRequest {
  const content = contentOf(request)
  if (request.body && random.chance(0.02)) content[random.below(content.length)] = 0xff
  const whole = framed(request, host, content, request.body !== undefined && random.chance(0.1))
  if (!random.chance(0.02)) return whole
  const { bytes, isHead } = whole
  const at = random.below(bytes.length)
  const kind = random.below(3)
  if (kind === 0) return { bytes: bytes.subarray(0, at), isHead, isBroken: true }
  const noise = Buffer.from(kind === 1 ? random.pick(oddTexts) : [random.below(256)])
  return { bytes: Buffer.concat([bytes.subarray(0, at), noise, bytes.subarray(at + 1)]), isHead, isBroken: true }
}

/** A request as it is. */
export function unchanged(request: FuzzRequest, host: string): WrittenRequest {
  return framed(request, host, contentOf(request), false)
}

function contentOf({ body }: FuzzRequest): Buffer {
  return Buffer.from(body ? bodyText(body) : '')
}

function framed(
  { method, target, headers, body }: FuzzRequest,
  host: string,
  content: Buffer,
  isChunked: boolean,
): WrittenRequest {
  const framing = isChunked ? ['Transfer-Encoding: chunked'] : body ? [`Content-Length: ${content.length}`] : []
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${host}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...framing,
  ]
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  const chunks = content.length === 0 ? '0\r\n\r\n' : `${content.length.toString(16)}\r\n`
  const bytes = isChunked
    ? Buffer.concat([head, Buffer.from(chunks), content, Buffer.from(content.length === 0 ? '' : '\r\n0\r\n\r\n')])
    : Buffer.concat([head, content])
  return { bytes, isHead: method === 'HEAD', isBroken: false }
}
