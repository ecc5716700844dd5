/** Finds matches that span several pieces of a text, such as a word split across two text parts. */
import type { Span } from '../provider.ts'
import { mask, type View } from './view.ts'

/** Number of UTF-16 code units that are read at each end of a piece. */
const nearby = 1_000

/** Joins the pieces of a text without separators. Omits the middle of long pieces. */
export function putTogether(text: string, pieces: readonly Span[]): Required<View> {
  let together = ''
  const starts: number[] = []
  const ends: number[] = []
  const copy = (start: number, end: number) => {
    together += text.slice(start, end)
    for (let at = start; at < end; at++) {
      starts.push(at)
      ends.push(at + 1)
    }
  }
  for (const { start, end } of pieces) {
    const head = Math.min(end, start + nearby)
    const tail = Math.max(head, end - nearby)
    copy(start, head)
    if (head < tail) {
      together += mask
      starts.push(head)
      ends.push(tail)
    }
    copy(tail, end)
  }
  return { text: together, places: { starts, ends } }
}

/** Maps spans over several pieces back to the text, with one span for each piece. Drops other spans. */
export function inSeveral({ places: { starts, ends } }: Required<View>, spans: readonly Span[]): Span[] {
  return spans.flatMap((span) => {
    const stretches: { start: number; end: number }[] = []
    for (let at = span.start; at < span.end; at++) {
      const last = stretches.at(-1)
      if (last?.end === starts[at]) last.end = ends[at]
      else stretches.push({ start: starts[at], end: ends[at] })
    }
    return stretches.length > 1 ? stretches : []
  })
}
