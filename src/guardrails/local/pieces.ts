/** Finds matches across pieces of a text that readers may join, such as a word split over two text parts. */
import type { Span } from '../provider.ts'
import { mask, type View } from './view.ts'

/** The number of UTF-16 units that are read at the beginning and at the end of a piece. */
const nearby = 1_000

/** The pieces of a text with nothing between them. The middle of long ones is left out. */
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

/** Where spans of pieces put together stand in the text: one stretch for each piece, of spans over several. */
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
