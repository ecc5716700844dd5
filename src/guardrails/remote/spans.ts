/** What services answer: positions in a text as they count them, and kinds of things. */
import { plainName } from '../../lib/names.ts'
import { joined } from '../local/view.ts'
import type { Span } from '../provider.ts'

/** Spans of code points, as Python counts them, in UTF-16 code units. Undefined if one is not in the text. */
export function spansOfCodePoints(text: string, spans: readonly Span[]): Span[] | undefined {
  const unitOf = [0]
  for (const char of text) unitOf.push(unitOf[unitOf.length - 1] + char.length)
  const isInside = ({ start, end }: Span) =>
    Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start < end && end < unitOf.length
  if (!spans.every(isInside)) return undefined
  return joined(spans.map(({ start, end }) => ({ start: unitOf[start], end: unitOf[end] })))
}

/**
 * Cut a text into pieces of at most `max` UTF-16 code units, for services that take no more at a time. Each begins with
 * the last `overlap` units of the one before, so that nothing shorter is cut in two. No character is cut.
 */
export function piecesOf(text: string, max: number, overlap: number): string[] {
  const pieces: string[] = []
  for (let start = 0;;) {
    const end = start + max >= text.length ? text.length : characterStart(text, start + max)
    pieces.push(text.slice(start, end))
    if (end === text.length) return pieces
    start = characterStart(text, end - overlap)
  }
}

function characterStart(text: string, position: number): number {
  return text.codePointAt(position - 1)! > 0xffff ? position - 1 : position
}

/** At most so many kinds of one verdict are kept. */
const maxKinds = 20
const maxLength = 64

/**
 * The kinds of a verdict from the labels of a service: `EMAIL_ADDRESS` is `email address`. Services are not trusted, so
 * kinds are few, short and plain. `fallback` stands for labels of which nothing is left.
 */
export function kindsOf(labels: readonly string[], fallback: string): string[] {
  return [...new Set(labels.map((label) => kindOf(label) || fallback))].slice(0, maxKinds)
}

function kindOf(label: string): string {
  return plainName(label.slice(0, 2 * maxLength).replace(/[^\p{L}\p{M}\p{N}\s,.'()&+/-]/gu, ' '), maxLength)
    .toLowerCase()
}
