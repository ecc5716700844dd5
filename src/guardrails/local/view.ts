/**
 * Ways to read a text: as it is written, with its escapes resolved, or what is encoded in it. Each knows where its
 * characters stand, so that what is found can be masked there. See docs/protocol/guardrails.md, "Providers".
 */
import type { GuardedText, Span, Verdict } from '../provider.ts'

export interface View {
  readonly text: string
  /** Where each UTF-16 code unit begins and ends in the text that was read. Without it they are at the same place. */
  readonly places?: { readonly starts: readonly number[]; readonly ends: readonly number[] }
}

/** A stretch of a view, in the text that was read. The stretch is not empty. */
export function spanOf({ places }: View, start: number, end: number): Span {
  return places ? { start: places.starts[start], end: places.ends[end - 1] } : { start, end }
}

/**
 * The view with all matches of a global pattern before `until` replaced; undefined leaves one as it is. What is
 * replaced by nothing belongs to the character before it, if it is `hidden`. The pattern has no names.
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

/** Spans in order, without overlaps and without empty ones. */
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

/** The maximum total length in UTF-16 units of two texts whose results are cached. */
const mostKept = 1_500_000

/**
 * A function that makes something of a text, once for all guardrails that are asked about it one after another, in turn
 * with the pieces of the text.
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

/** A character that is part of no word, number or encoding. It stands for what was found. */
export const mask = '\u2588'

export interface Found extends Span {
  readonly kind: string
}

/**
 * A search in all readings of a message, and again in its text without what was found, until nothing is left: a stretch
 * that is masked is a new boundary for what stands next to it.
 */
export function searchOf<Reading>(read: (text: string) => Reading[]) {
  const firstReadings = oncePerText(read)
  return ({ text }: GuardedText, find: (reading: Reading) => Found[]): Verdict => {
    let all: Found[] = []
    let found = firstReadings(text).flatMap(find)
    // Each round masks at least one more character of few.
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
/** Scripts without spaces between words, and Hangul, where particles follow a word. */
const unspaced = `[${
  'Han Hiragana Katakana Bopomofo Hangul Thai Lao Khmer Myanmar Tibetan'.split(' ')
    .map((script) => String.raw`\p{scx=${script}}`).join('')
}]`
const edge = new RegExp(`(?<!${inWord})|(?!${inWord})|(?<=${unspaced})|(?=${unspaced})`, 'uy')

/** Whether a word can begin or end here. */
export function isWordEdge(text: string, at: number): boolean {
  edge.lastIndex = at
  return edge.test(text)
}

/** Where the word ends that goes on here, within 40 code units. */
export function wordEnd(text: string, at: number): number {
  let end = at
  while (end < at + 40 && !isWordEdge(text, end)) end++
  return end
}
