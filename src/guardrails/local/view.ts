/**
 * Ways to read a text: as it is written, with its escapes resolved, or what is encoded in it. Each knows where its
 * characters stand in the text, so that what is found can be masked there. See docs/protocol.md, "Local guardrails".
 */
import type { GuardedText, Span } from '../provider.ts'

/** A reading of a text. */
export interface View {
  readonly text: string
  /** Where each UTF-16 code unit begins and ends in the text that was checked. Without it they are at the same place. */
  readonly places?: Places
}

interface Places {
  readonly starts: Int32Array
  readonly ends: Int32Array
}

/** A stretch of a view, in the text that was checked. The stretch is not empty. */
export function spanOf({ places }: View, start: number, end: number): Span {
  return places ? { start: places.starts[start], end: places.ends[end - 1] } : { start, end }
}

/** Collects the text of a new view from stretches of another one. */
export class ViewBuilder {
  #text = ''
  #starts: number[] = []
  #ends: number[] = []
  readonly #from: View

  constructor(from: View) {
    this.#from = from
  }

  /** Add a text that stands for a stretch. All of it begins and ends where the stretch does. */
  add(text: string, start: number, end: number): void {
    this.#text += text
    const span = spanOf(this.#from, start, end)
    for (let i = 0; i < text.length; i++) {
      this.#starts.push(span.start)
      this.#ends.push(span.end)
    }
  }

  /** Add a stretch as it is. */
  copy(start: number, end: number): void {
    this.#text += this.#from.text.slice(start, end)
    for (let i = start; i < end; i++) {
      this.#starts.push(this.#from.places ? this.#from.places.starts[i] : i)
      this.#ends.push(this.#from.places ? this.#from.places.ends[i] : i + 1)
    }
  }

  view(): View {
    return { text: this.#text, places: { starts: Int32Array.from(this.#starts), ends: Int32Array.from(this.#ends) } }
  }
}

/**
 * The view with all matches of a pattern before `until` replaced. A replacement of undefined leaves the match as it is.
 */
export function replaceIn(
  view: View,
  pattern: RegExp,
  replace: (match: RegExpMatchArray) => string | undefined,
  until = view.text.length,
): View {
  let builder: ViewBuilder | undefined
  let copied = 0
  for (const match of view.text.slice(0, until).matchAll(pattern)) {
    const text = replace(match)
    if (text === undefined) continue
    builder ??= new ViewBuilder(view)
    builder.copy(copied, match.index)
    copied = match.index + match[0].length
    builder.add(text, match.index, copied)
  }
  if (!builder) return view
  builder.copy(copied, view.text.length)
  return builder.view()
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

/** A function that makes something of a text, once for all guardrails that are asked about the same message. */
export function oncePerMessage<Made>(make: (text: string) => Made): (guarded: GuardedText) => Made {
  const made = new WeakMap<GuardedText, { value: Made }>()
  return (guarded) => {
    let known = made.get(guarded)
    if (!known) made.set(guarded, known = { value: make(guarded.text) })
    return known.value
  }
}

/** A character that is part of no word, number or encoding. It stands for what was found. */
export const mask = '\u2588'

/**
 * Find again in the text without what was found, until nothing is left: a stretch that is masked is a new boundary for
 * what stands beside it.
 */
export function untilClean<Found extends Span>(text: string, find: (text: string) => Found[]): Found[] {
  const all: Found[] = []
  // Each round masks at least one more character of few.
  for (let round = 0, rest = text; round < 5; round++) {
    const found = find(rest)
    if (found.length === 0) break
    all.push(...found)
    rest = maskedIn(rest, joined(found))
  }
  return all
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
