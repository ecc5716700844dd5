/**
 * Views of a text: as written, with escapes resolved, or decoded. Each view maps its characters back to the original,
 * so that matches can be masked there. See docs/protocol/guardrails.md, "Providers".
 */
import type { GuardedText, Span, Verdict } from '../provider.ts'

export interface View {
  readonly text: string
  /** The start and end of each UTF-16 code unit in the original text. If undefined, positions are identical. */
  readonly places?: { readonly starts: readonly number[]; readonly ends: readonly number[] }
}

/** Maps a non-empty span of a view to the original text. */
export function spanOf({ places }: View, start: number, end: number): Span {
  return places ? { start: places.starts[start], end: places.ends[end - 1] } : { start, end }
}

/**
 * Replaces all matches of a global pattern before `until`. A match is kept if `replace` returns undefined. With
 * `hidden`, a removed match counts as part of the character before it. The pattern must have no named groups.
 */
export function replaceIn(
  view: View,
  pattern: RegExp,
  replace: (...match: (string | undefined)[]) => string | undefined,
  { until = view.text.length, hidden = false } = {},
): View {
  const starts: number[] = []
  const ends: number[] = []
  let copied = 0
  const copyTo = (end: number) => {
    for (; copied < end; copied++) {
      starts.push(view.places ? view.places.starts[copied] : copied)
      ends.push(view.places ? view.places.ends[copied] : copied + 1)
    }
  }
  const replaced = view.text.slice(0, until).replace(pattern, (...match) => {
    const found: string = match[0]
    const replacement = replace(...match) ?? found
    if (replacement === found) return found
    copyTo(match.at(-2))
    copied += found.length
    const { start, end } = spanOf(view, copied - found.length, copied)
    for (let i = 0; i < replacement.length; i++) {
      starts.push(start)
      ends.push(end)
    }
    if (hidden && replacement === '' && ends.length > 0) ends[ends.length - 1] = end
    return replacement
  })
  if (copied === 0) return view
  copyTo(view.text.length)
  return { text: replaced + view.text.slice(until), places: { starts, ends } }
}

/** Sorts spans, merges overlapping ones and removes empty ones. */
export function joined(spans: readonly Span[]): Span[] {
  const sorted = spans.filter(({ start, end }) => end > start).sort((a, b) => a.start - b.start)
  const out: Span[] = []
  for (const span of sorted) {
    const last = out.at(-1)
    if (last && span.start <= last.end) out[out.length - 1] = { start: last.start, end: Math.max(last.end, span.end) }
    else out.push(span)
  }
  return out
}

/** Maximum total length in UTF-16 code units of two cached texts. */
const mostKept = 1_500_000

/**
 * Caches a function's results for the last two texts, because several guardrails check the same text and its joined
 * pieces.
 */
export function oncePerText<Made>(make: (text: string) => Made): (text: string) => Made {
  let kept: { text: string; made: Made }[] = []
  return (text) => {
    const known = kept.find((one) => one.text === text)
    if (known) return known.made
    kept = kept.slice(-1).filter((last) => last.text.length + text.length <= mostKept)
    const made = make(text)
    kept.push({ text, made })
    return made
  }
}

/** A character that belongs to no word, number or encoding. It replaces matches. */
export const mask = '\u2588'

export interface Found extends Span {
  readonly kind: string
}

/**
 * Returns a function that searches all readings of a message, masks the matches and searches again, for up to five
 * rounds, because each masked span is a new boundary for its neighbours.
 */
export function searchOf<Reading>(read: (text: string) => Reading[]) {
  const firstReadings = oncePerText(read)
  return ({ text }: GuardedText, find: (reading: Reading) => Found[]): Verdict => {
    let all: Found[] = []
    let found = firstReadings(text).flatMap(find)
    for (let round = 1, rest = text; found.length > 0; round++) {
      all = all.concat(found)
      if (round === 5) break
      rest = maskedIn(rest, joined(found))
      found = read(rest).flatMap(find)
    }
    return { kinds: [...new Set(all.map(({ kind }) => kind))], spans: joined(all) }
  }
}

function maskedIn(text: string, spans: readonly Span[]): string {
  let masked = ''
  let copied = 0
  for (const { start, end } of spans) {
    masked += text.slice(copied, start) + mask.repeat(end - start)
    copied = end
  }
  return masked + text.slice(copied)
}

const inWord = String.raw`[\p{L}\p{N}\p{M}]`
/** Scripts without spaces between words, and Hangul, in which particles follow a word. */
const unspaced = `[${
  'Han Hiragana Katakana Bopomofo Hangul Thai Lao Khmer Myanmar Tibetan'.split(' ')
    .map((script) => String.raw`\p{scx=${script}}`).join('')
}]`
const edge = new RegExp(`(?<!${inWord})|(?!${inWord})|(?<=${unspaced})|(?=${unspaced})`, 'uy')

/** Whether a word can begin or end at this position. */
export function isWordEdge(text: string, at: number): boolean {
  edge.lastIndex = at
  return edge.test(text)
}

/** Returns the end of the word at this position, within 40 code units. */
export function wordEnd(text: string, at: number): number {
  let end = at
  while (end < at + 40 && !isWordEdge(text, end)) end++
  return end
}
