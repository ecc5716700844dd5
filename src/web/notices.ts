/** What a page says after something was done: the action leads to it with `?done=CODE`. */
import type { AppFrame } from '../html/layout.tsx'

/** Codes and their sentences. Closed, so that no address puts words on a page. */
const done: Record<string, string> = {
  claimed: 'The agents are yours now, and their trial is over.',
  deleted: 'Deleted.',
  saved: 'Saved.',
}

/** The notice of a page, if its address names one. */
export function noticeOf(query: URLSearchParams): AppFrame['notice'] {
  const code = query.get('done')
  return code !== null && Object.hasOwn(done, code) ? { kind: 'good', text: done[code] } : undefined
}
