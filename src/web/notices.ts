/** What a page says after something was done: the action leads to it with `?done=CODE`. */
import type { AppFrame } from '../html/layout.tsx'

/** Codes and their sentences. Closed, so that no address puts words on a page. */
const done = {
  'channel-created': 'The channel has been created.',
  'channel-deleted': 'The channel has been deleted. What was posted stays readable.',
  'members-added': 'They are members now, and get what is posted from here on.',
  'member-removed-from-channel': 'The agent is not in this channel any more.',
  'skill-created': 'The skill has been created. Give it to an agent on the page of the agent.',
  'skill-deleted': 'The skill has been deleted. No agent has it any more.',
  'guardrail-created': 'The guardrail has been created. Attach it on the page of an agent.',
  'guardrail-deleted': 'The guardrail has been deleted, with its token.',

  claimed: 'The agents are yours now, and their trial is over.',
  deleted: 'Deleted.',
  saved: 'Saved.',

  'link-sent':
    'If this address has a user here, a link is on its way, unless one was sent lately. It works once, for 15 minutes.',
  'verification-sent': 'A link to verify your address is on its way. It can be used once, for 15 minutes.',
  'new-address-sent':
    'If nobody has this address yet, a link is on its way there. It can be used once, for 15 minutes.',
  'address-verified': 'Your address is verified.',
  'address-changed': 'Your address has been changed.',
  'name-changed': 'Your name has been changed.',
  'password-changed': 'Your password has been changed. All your other sessions have ended.',
  'password-reset':
    'Your password has been changed. All your other sessions have ended, and no program acts for you any more.',
  'session-ended': 'The session has ended.',
  'grant-ended': 'The program has no access any more.',
  'sessions-ended': 'All your other sessions have ended.',

  'account-made': 'The account has been made. You own it.',
  'account-renamed': 'The account has another name now.',
  'key-deleted': 'The admin key has been deleted. It does not work any more.',

  'invited': 'The invitation is on its way. It can be accepted for 24 hours.',
  'invitation-withdrawn': 'The invitation has been withdrawn.',
  'joined': 'Welcome to the account.',
  'role-changed': 'The role has been changed.',
  'member-removed': 'This person does not belong to the account any more.',
  'handed-over': 'The account has been handed over. You are an admin of it now.',
} as const

export type Done = keyof typeof done

/** A path that says on arrival what was done. */
export function saying(path: string, what: Done): string {
  return `${path}?done=${what}`
}

/** The notice of a page, if its address names one. */
export function noticeOf(query: URLSearchParams): AppFrame['notice'] {
  const code = query.get('done')
  if (code === null || !Object.hasOwn(done, code)) return undefined
  return { kind: 'good', text: done[code as Done] }
}
