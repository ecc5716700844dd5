/** A detector of one kind of personal data. */
import type { Span } from '../../provider.ts'

export interface Detector {
  readonly id: string
  readonly kind: string
  /** Find it in linear time. A sender wrote the text: expressions repeat at most so often, and begin at few places. */
  find(text: string): Span[]
}

export interface Candidate extends Span {
  readonly text: string
}

/** What a global expression finds and `accept` takes. A stretch that is not taken is not searched again. */
export function matching(text: string, pattern: RegExp, accept = (_: Candidate) => true): Candidate[] {
  return [...text.matchAll(pattern)]
    .map(({ 0: found, index }) => ({ text: found, start: index, end: index + found.length }))
    .filter(accept)
}

/** The text before a stretch, as far as a word that explains it may be away. */
export function before(text: string, start: number, length = 32): string {
  return text.slice(Math.max(0, start - length), start)
}
