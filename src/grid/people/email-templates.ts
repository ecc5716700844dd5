/**
 * Email texts: short, plain, with at most one link. The only text from unverified callers is an alias. See
 * docs/people.md, "Signing in".
 */
import type { Config } from '../../config.ts'
import type { OutgoingEmail } from '../../deps.ts'

export type EmailContent = Omit<OutgoingEmail, 'to'>

export type AppUrl = Pick<Config, 'appUrl'>

const ignoreNotice = 'If you did not request it, ignore this email.'

const linkTexts = {
  verify_address: ['Please confirm that this is your email address on', ignoreNotice],
  sign_in: [
    'Open this link to sign in to',
    `Do not share it: anyone who opens it is signed in as you. ${ignoreNotice}`,
  ],
  password_reset: [
    'Open this link to choose a new password for',
    `${ignoreNotice} Your password does not change until you do.`,
  ],
} as const

/** Creates the email that sends a link to a user. */
export function linkEmail(config: AppUrl, kind: keyof typeof linkTexts, link: string): EmailContent {
  const [request, warning] = linkTexts[kind]
  return emailContent(config, kind, link, [
    `${request} ${hostOf(config)}:`,
    link,
    `The link works once, for 15 minutes. ${warning}`,
  ])
}

/** Invites a user into an account. `invitedBy` is the verified address of a member. */
export function invitationEmail(
  config: AppUrl,
  link: string,
  invitation: { invitedBy: string; accountName: string; role: 'owner' | 'admin' | 'member' | 'viewer' },
): EmailContent {
  const { invitedBy, accountName, role } = invitation
  return emailContent(config, 'invitation', link, [
    `${invitedBy} invites you to the account "${plainName(accountName)}" on ${hostOf(config)}, as ${role}.`,
    'To accept, open this link and sign in with this email address:',
    link,
    `The link works once, for 24 hours. If you do not know ${invitedBy}, ignore this email.`,
  ])
}

/** Informs the owner that agents signed up. The alias is the only text from the signup. */
export function claimEmail(config: AppUrl, link: string, alias?: string): EmailContent {
  const what = alias === undefined
    ? `Agents signed up on ${hostOf(config)} and named you as their owner.`
    : `The agent @${alias} signed up on ${hostOf(config)} and named you as its owner.`
  return emailContent(config, 'claim', link, [
    what,
    'To see the agents and choose which to keep, open this link:',
    link,
    'The link works once, for 24 hours; its page can send you a new one. If you do not know these agents, ignore this ' +
    'email: they have no access to anything of yours.',
  ])
}

/** Security notices contain no link, so that users do not learn to click links in such warnings. */
export function passwordChangedEmail(config: AppUrl): EmailContent {
  return emailContent(config, 'password_changed', undefined, [
    `Your password for ${hostOf(config)} was changed.`,
    `If it was not you, go to ${config.appUrl} and reset your password now.`,
  ])
}

/** Informs the old address that the user has a new one. Like all security notices, contains no link. */
export function addressChangedEmail(config: AppUrl): EmailContent {
  return emailContent(config, 'address_changed', undefined, [
    `The email address of your user on ${hostOf(config)} was changed. This address is no longer used.`,
    'If it was not you, tell the operator of this grid and the owners of your accounts.',
  ])
}

export function secondFactorChangedEmail(config: AppUrl, change: SecondFactorChange): EmailContent {
  return emailContent(config, 'second_factor_changed', undefined, [
    `${secondFactorChanges[change]} your user on ${hostOf(config)}.`,
    `If it was not you, go to ${config.appUrl}, reset your password, and tell the owners of your accounts.`,
  ])
}

export function conversationsPausedEmail(
  config: AppUrl,
  accountName: string,
  conversations: string[][],
): EmailContent {
  const [first, ...others] = conversations
  const paused = others.length === 0
    ? `their conversation is paused: ${named(first)}.`
    : `${conversations.length} conversations are paused: that of ${named(first)}, and ${others.length} more.`
  return emailContent(config, 'conversation_paused', undefined, [
    `Agents of the account "${plainName(accountName)}" on ${hostOf(config)} kept answering each other, and ${paused}`,
    `Nothing else has stopped. To let them continue, sign in at ${config.appUrl} and choose Resume on the page Attention.`,
  ])
}

/** Lists aliases in words, shortened if there are many. */
export function named(aliases: string[]): string {
  const more = aliases.length > maxNamedAgents ? ` and ${aliases.length - maxNamedAgents} more` : ''
  return aliases.slice(0, maxNamedAgents).map((alias) => `@${alias}`).join(', ') + more
}

export const maxNamedAgents = 8

const secondFactorChanges = {
  passkey_added: 'A passkey was added to',
  passkey_removed: 'A passkey was removed from',
  totp_added: 'An authenticator app was added to',
  totp_removed: 'The authenticator app was removed from',
  codes_replaced: 'New recovery codes were made for',
  code_used: 'A recovery code was used for',
  reset: 'The second factor was reset for',
}

export type SecondFactorChange = keyof typeof secondFactorChanges

/** Constants, because a subject must never contain users' text. */
const subjects = {
  verify_address: 'Confirm your email address',
  sign_in: 'Your sign-in link',
  password_reset: 'Choose a new password',
  invitation: 'You are invited to an account',
  claim: 'An agent named you as its owner',
  password_changed: 'Your password was changed',
  address_changed: 'Your email address was changed',
  second_factor_changed: 'Your second factor was changed',
  conversation_paused: 'A conversation of your agents is paused',
  digest: 'Messages wait for you',
} satisfies Record<OutgoingEmail['kind'], string>

export function emailContent(
  config: AppUrl,
  kind: OutgoingEmail['kind'],
  link: string | undefined,
  paragraphs: string[],
): EmailContent {
  const text = `${[...paragraphs, `agent-grid on ${hostOf(config)}`].join('\n\n')}\n`
  return { kind, subject: subjects[kind], text, link }
}

export function hostOf({ appUrl }: AppUrl): string {
  return new URL(appUrl).host
}

/** Returns a name without line breaks and without anything that a mail client would turn into a link. */
export function plainName(name: string): string {
  return name.normalize('NFKC').replace(/[^\p{L}\p{M}\p{N} &'_-]+/gu, ' ').replace(/\s+/g, ' ').trim().slice(0, 60)
}
