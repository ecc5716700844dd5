/** Decodes escapes and encodings in a text. */
import { Buffer } from 'node:buffer'
import { replaceIn, spanOf, type View } from './view.ts'

/** Entities for characters in phrases and addresses, and entities that can hide text. */
const entities: Record<string, string> = Object.fromEntries(
  ('amp& lt< gt> quot" apos\' nbsp\u00a0 ensp\u2002 emsp\u2003 thinsp\u2009 shy\u00ad zwnj\u200c zwj\u200d lrm\u200e ' +
    'rlm\u200f commat@ period. comma, colon: semi; num# sol/ bsol\\ excl! quest? lpar( rpar) lowbar_ hyphen\u2010 ' +
    'ndash\u2013 mdash\u2014 plus+ equals= dollar$ percnt% Tab\t NewLine\n').split(' ')
    .map((entry) => [entry.slice(0, -1).toLowerCase(), entry.slice(-1)]),
)

const escapes =
  /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,7}));?|((?:%[0-9a-f]{2}){1,4})|\\(?:u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|x([0-9a-f]{2}))/gi

/** Returns the view with escapes resolved, including nested ones. */
export function unescaped(view: View): View {
  let current = view
  for (let depth = 0; depth < 3 && /[&%\\]/.test(current.text); depth++) {
    const next = replaceIn(current, escapes, unescape)
    if (next === current) break
    current = next
  }
  return current
}

function unescape(_?: string, hex?: string, decimal?: string, entity?: string, percents?: string, ...js: unknown[]) {
  if (entity) return entities[entity.toLowerCase()]
  if (percents) return fromPercents(percents)
  const digits = hex ?? js.slice(0, 3).find((digits) => digits !== undefined) as string | undefined
  const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16)
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : undefined
}

function fromPercents(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Returns the view without HTML tags and comments, or the same view if it has none. */
export function withoutTags(view: View): View {
  // Removes comments only up to the last `-->`, because each unclosed comment would cause a scan of the rest.
  const until = view.text.lastIndexOf('-->') + '-->'.length
  return replaceIn(replaceIn(view, /<!--[^]*?-->/g, () => '', { until }), /<\/?[a-z][^<>]*>/gi, () => '')
}

const shortest = 16
const encodedRuns = /[A-Za-z0-9+/_-]{16,}={0,2}/g
const isHex = /^(?:[0-9a-f]{2})+$/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Returns views of decoded base64 and hexadecimal text, including nested encodings. Omits spans that do not decode to
 * text.
 */
export function embedded(view: View, depth = 2): View[] {
  if (depth === 0) return []
  return runsOf(view.text).flatMap(({ encoded, start, end }) => {
    const text = decode(encoded)
    if (text === undefined) return []
    const span = spanOf(view, start, end)
    const places = { starts: Array(text.length).fill(span.start), ends: Array(text.length).fill(span.end) }
    const inner = unescaped({ text, places })
    return [inner, ...embedded(inner, depth - 1)]
  })
}

interface Run {
  encoded: string
  start: number
  end: number
}

/** Separators between the pieces of one encoded text: line ends, and the quotation marks of code and email. */
const betweenPieces = /^[\s"'`+,>\\]{1,8}$/

/** Returns the spans that may be encoded, both individually and joined with adjacent ones. */
function runsOf(text: string): Run[] {
  const runs: Run[] = []
  const joined: Run[] = []
  for (const { 0: encoded, index: start } of text.matchAll(encodedRuns)) {
    const run = { encoded, start, end: start + encoded.length }
    const last = runs.at(-1)
    if (last && betweenPieces.test(text.slice(last.end, Math.min(start, last.end + 9)))) {
      if (joined.at(-1)?.end !== last.end) joined.push({ ...last })
      const chain = joined.at(-1)!
      chain.encoded += encoded
      chain.end = run.end
    }
    runs.push(run)
  }
  return [...runs, ...joined]
}

function decode(encoded: string): string | undefined {
  if (isHex.test(encoded)) {
    const text = fromBytes(Buffer.from(encoded, 'hex'))
    if (text !== undefined) return text
  }
  // Rejects words, paths and names, because encoded text mixes upper and lower case.
  if (!/[a-z]/.test(encoded) || !/[A-Z]/.test(encoded)) return undefined
  return fromBytes(Buffer.from(encoded, 'base64'))
}

function fromBytes(bytes: Uint8Array): string | undefined {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return undefined
  }
  // deno-lint-ignore no-control-regex -- bytes that are no text have controls
  return text.length < shortest / 2 || /[\0-\x08\x0e-\x1f\x7f]/.test(text) ? undefined : text
}
