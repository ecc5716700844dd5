/** Notices shown after an action, which redirects to a page with `?done=CODE`. */
import type { AppFrame } from '../html/frame.tsx'

/** Success messages by code. The URL contains only the code, so a crafted link cannot inject text into a page. */
const notices = {
  'channel-created': 'The channel has been created.',
  'channel-deleted': 'The channel has been deleted. Its messages can still be read.',
  'channel-followed': 'You are notified of new posts here, as you have chosen under Settings, Notifications.',
  'channel-unfollowed': 'You are notified only of posts here that name you.',
  'members-added': 'The agents have been added. They receive new messages from now on.',
  'member-removed-from-channel': 'The agent has been removed from the channel.',
  'skill-created': 'The skill has been created. Assign it to an agent on the agent’s page.',
  'skill-deleted': 'The skill has been deleted and removed from all agents.',
  'guardrail-created': 'The guardrail has been created. It checks nothing until it is attached to agents.',
  'guardrail-attached': 'The guardrail is attached.',
  'guardrail-deleted': 'The guardrail and its token have been deleted.',

  'rule-created': 'The approval rule has been created. It holds messages from now on.',
  'rule-deleted': 'The approval rule has been deleted. Messages that it holds stay held.',
  'held-approved': 'Approved. The message is delivered.',
  'held-edited': 'Approved. The message is delivered as you edited it.',
  'held-again': 'Approved here. It now waits for the people of its recipient.',
  'held-refused': 'Refused. Its sender learns why.',

  'reservation-ended': 'The reservation has ended. Its agent gets a message.',

  'text-allowed': 'The guardrail lets exactly this text pass from now on.',
  'text-disallowed': 'The guardrail checks this text again.',

  claimed: 'The agents now belong to this account, and their trial has ended.',
  deleted: 'Deleted.',
  saved: 'Saved.',
  'message-sent': 'Your message has been sent. It appears here in a moment.',
  'message-held': 'Your message waits for the approval of another person. You are notified if it is refused.',
  'message-retracted': 'The message is retracted.',
  'all-read': 'You have read all messages to you.',
  'shortcuts-on': 'Single keys are on.',
  'shortcuts-off': 'Single keys are off.',
  'answered': 'Your answer has been sent.',
  'dismissed': 'Dismissed. It no longer waits for your answer.',
  'snoozed': 'Snoozed. It comes back later, or as soon as it gets worse.',
  'well-again': 'It no longer needs attention.',
  'shown-again': 'It is shown again.',
  'access-confirmed': 'Confirmed. It can now write to the agent.',
  'access-removed': 'It is no longer on the access list.',
  'tried-remote': 'Its messages are being sent.',
  'remote-paused': 'Its messages wait until you resume it.',
  'remote-resumed': 'Its messages are sent again.',
  'card-read': 'The card was read.',
  requeued: 'The messages were put back: they are unread again, and the agent was notified.',
  resumed: 'The conversation continues. Its turns are counted from now on.',

  'link-sent':
    'If a user has this email address, a link is on its way, unless one was sent recently. It works once, for 15 minutes.',
  'verification-sent': 'A link to verify your email address is on its way. It works once, for 15 minutes.',
  'new-address-sent':
    'If no other user has this email address, a link is on its way to it. It works once, for 15 minutes.',
  'address-verified': 'Your email address is verified.',
  'address-changed': 'Your email address has been changed.',
  'alias-chosen': 'Agents can write to you at this alias.',
  'alias-given-up': 'Your alias is removed. Messages to it are refused, and those that you had not read are parked.',
  'service-allowed': 'Your messages may be sent there from now on.',
  'service-disallowed': 'Your messages are no longer sent there.',
  'theme-chosen': 'The colours of this browser have been changed.',
  'name-changed': 'Your name has been changed.',
  'password-changed': 'Your password has been changed. All your other sessions have ended.',
  'password-reset':
    'Your password has been changed. All your other sessions have ended, and programs can no longer act for you.',
  'confirmed': 'Confirmed. You can now repeat the change.',
  'passkey-added': 'The passkey has been added.',
  'passkey-removed': 'The passkey has been removed.',
  'totp-added': 'The authenticator app has been added.',
  'totp-removed': 'The authenticator app has been removed.',
  'second-factor-reset': 'The second factor has been reset. The user is signed out everywhere.',
  'session-ended': 'The session has ended.',
  'grant-ended': 'The program no longer has access.',
  'sessions-ended': 'All your other sessions have ended.',

  'account-deleted': 'The account is deleted. An owner can bring it back for 7 days.',
  'account-restored': 'The account is restored.',
  'account-made': 'The account has been created. You are its owner.',
  'account-renamed': 'The account has been renamed.',
  'conversations-shown': 'From now on, owners and admins can read what agents write to each other.',
  'older-conversations-shown': 'Owners and admins can now read older messages, too.',
  'conversations-hidden': 'People can no longer read what agents write to each other.',
  'contents-shown': 'From now on, the people of this account see the texts that guardrails block.',
  'contents-hidden': 'The texts that guardrails blocked have been removed, and no more are kept.',
  'agent-key-revoked': 'The key has been revoked and no longer works.',
  'key-deleted': 'The admin key has been deleted and no longer works.',

  'invited': 'The invitation is on its way. It can be accepted for 24 hours.',
  'invitation-withdrawn': 'The invitation has been withdrawn.',
  'joined': 'Welcome to the account.',
  'role-changed': 'The role has been changed.',
  'member-removed': 'The user has been removed from the account.',
  'handed-over': 'Ownership has been transferred. You are now an admin of the account.',
} as const

/** Warnings and requests to the user, by code. */
const warnings = {
  'held-undeliverable': 'The message could not be delivered any more, so it was refused. Its sender learns why.',
  'card-not-read': 'No usable card was found. Check the remote URL and its token.',
  'domain-not-verified': 'The record was not found. New records can take an hour to become visible.',
  'agent-key-shown': 'The key was shown once and cannot be shown again. If you did not copy it, replace it.',
  'admin-key-shown':
    'The key was shown once and cannot be shown again. If you did not copy it, delete it and generate another.',
  'codes-shown':
    'The recovery codes were shown once and cannot be shown again. If you did not copy them, make new ones.',
  'invitation-shown':
    'The link was shown once and cannot be shown again. If you did not copy it, make a new link for the invitation.',
  'invitation-logged':
    'The person is invited, but this grid does not send email. The operator can find the link in the server’s log.',
  'link-logged':
    'This grid does not send email. If there is a link for this address, the operator finds it in the server’s log. It works once, for 15 minutes.',
} as const

export type NoticeCode = keyof typeof notices | keyof typeof warnings

/** An optional feature's notice. Without a `kind`, it reports a success. */
export interface FeatureNotice {
  code: string
  text: string
  kind?: 'warning'
}

export function withNotice(path: string, notice: NoticeCode | FeatureNotice): string {
  return `${path}?done=${typeof notice === 'string' ? notice : notice.code}`
}

export function noticeOf(query: URLSearchParams, ofFeatures: readonly FeatureNotice[] = []): AppFrame['notice'] {
  const code = query.get('done') ?? ''
  const found = ofFeatures.find((notice) => notice.code === code)
  if (found) return { kind: found.kind ?? 'good', text: found.text }
  if (Object.hasOwn(notices, code)) return { kind: 'good', text: notices[code as keyof typeof notices] }
  if (Object.hasOwn(warnings, code)) return { kind: 'warning', text: warnings[code as keyof typeof warnings] }
  return undefined
}
