/** The interface of a detector, which finds one kind of personal data. */
import type { Span } from '../../provider.ts'

export interface Detector {
  readonly id: string
  readonly kind: string
  /**
   * Finds matches in linear time. The sender controls the text, so expressions must have bounded repetition and few
   * starting positions.
   */
  find(text: string): Span[]
}

export interface Candidate extends Span {
  readonly text: string
}

/** Returns the matches of a global expression that `accept` approves. Rejected matches are not searched again. */
export function matching(text: string, pattern: RegExp, accept = (_: Candidate) => true): Candidate[] {
  return [...text.matchAll(pattern)]
    .map(({ 0: found, index }) => ({ text: found, start: index, end: index + found.length }))
    .filter(accept)
}

/** Returns the text before a match. `length` is the maximum distance of a word that explains the match. */
export function before(text: string, start: number, length = 32): string {
  return text.slice(Math.max(0, start - length), start)
}
