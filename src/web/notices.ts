/** What a page says after something was done: the action leads to it with `?done=CODE`. */
import type { AppFrame } from '../html/layout.tsx'

/** Codes and their sentences. Closed, so that no address puts words on a page. */
const done: Record<string, string> = {
  'channel-created': 'The channel has been created.',
  'channel-deleted': 'The channel has been deleted. What was posted stays readable.',
  'members-added': 'They are members now, and get what is posted from here on.',
  'member-removed-from-channel': 'The agent is not in this channel any more.',
  'skill-created': 'The skill has been created. Give it to an agent on the page of the agent.',
  'skill-deleted': 'The skill has been deleted. No agent has it any more.',
  'guardrail-created': 'The guardrail has been created. Attach it on the page of an agent.',
  'guardrail-deleted': 'The guardrail has been deleted, with its token.',
  claimed: 'The agents are yours now, and their trial is over.',
  saved: 'Saved.',
}

/** The notice of a page, if its address names one. */
export function noticeOf(query: URLSearchParams): AppFrame['notice'] {
  const code = query.get('done')
  return code !== null && Object.hasOwn(done, code) ? { kind: 'good', text: done[code] } : undefined
}
