/** Sending of emails, within the limits. See docs/security.md, "Email limits" and "Enumeration and timing". */
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { createEmailLink, type EmailLinkKind } from './email-link-tokens.ts'
import {
  addressChangedEmail,
  conversationsPausedEmail,
  digestEmail,
  type EmailContent,
  invitationEmail,
  passwordChangedEmail,
  passwordResetEmail,
  type SecondFactorChange,
  secondFactorChangedEmail,
  signInEmail,
  verifyAddressEmail,
} from './email-templates.ts'
import type { SentInvitation } from './invitations.ts'
import { requireEmailAttempt, type SilentPurpose, takeDigestAttempt, takeEmailAttempt } from './throttle.ts'

const templates = {
  sign_in: signInEmail,
  reset: passwordResetEmail,
  verify: verifyAddressEmail,
  change_email: verifyAddressEmail,
} satisfies Record<EmailLinkKind, unknown>

/** The recipient of an email link. */
interface LinkRecipient {
  /** Null if no user has the address. */
  userId: string | null
  email: string
  /** Query string of the link, with `?`. */
  query?: string
  /** Statements that run first in the unit that stores the link. */
  precedingStatements?: Statement[]
}

/**
 * Send an email link, without telling the caller whether it was sent. An unknown address takes the same work and gets no
 * email. Over a limit nothing is created. `address` is the client's.
 */
export async function trySendEmailLink(
  store: Store,
  kind: SilentPurpose,
  to: LinkRecipient,
  address: string,
): Promise<void> {
  const attempt = { purpose: kind, email: to.email, address, isSent: to.userId !== null }
  if (await takeEmailAttempt(store, attempt)) await createAndSendLink(store, kind, to)
  else store.deps.log.info('An email link was not sent: limit reached', { kind })
}

/**
 * Send a signed-in user the link that verifies the address. Fails with `rate_limit_exceeded` over a limit. `address` is
 * the client's.
 */
export async function sendVerificationLink(
  store: Store,
  to: { userId: string; email: string },
  address: string,
): Promise<void> {
  await requireEmailAttempt(store, { purpose: 'verify', email: to.email, address })
  await createAndSendLink(store, 'verify', to)
}

async function createAndSendLink(
  store: Store,
  kind: EmailLinkKind,
  { userId, email, query = '', precedingStatements = [] }: LinkRecipient,
): Promise<void> {
  const { config, email: emailSender } = store.deps
  const { url, statement } = await createEmailLink(store, kind, { userId, email })
  await store.write([...precedingStatements, statement])
  if (userId !== null) emailSender.send({ to: email, ...templates[kind](config, url + query) })
}

/** Send an invitation. Its limits were checked before it was created. */
export function sendInvitationEmail(
  store: Store,
  { email, url, role }: SentInvitation,
  from: { invitedBy: string; accountName: string },
): void {
  store.deps.email.send({ to: email, ...invitationEmail(store.deps.config, url, { ...from, role }) })
}

/**
 * Send a notice. It has no limit: a security notice follows only an authenticated change, and an attacker could use up
 * the limit before making the change. The others have limits of their own.
 */
function sendNotice(store: Store, to: string, content: EmailContent): void {
  store.deps.email.send({ to, ...content })
}

/** Tell a user that the password was changed. */
export function sendPasswordChangedEmail(store: Store, to: string): void {
  sendNotice(store, to, passwordChangedEmail(store.deps.config))
}

/** Tell a user that the email address was changed. `to` is the old address. */
export function sendAddressChangedEmail(store: Store, to: string): void {
  sendNotice(store, to, addressChangedEmail(store.deps.config))
}

/** Tell a user that the second factor was changed. */
export function sendSecondFactorEmail(store: Store, to: string, change: SecondFactorChange): void {
  sendNotice(store, to, secondFactorChangedEmail(store.deps.config, change))
}

/** Tell an owner which conversations of the account were paused, by their agents. */
export function sendConversationsPausedEmail(
  store: Store,
  to: string,
  accountName: string,
  conversations: string[][],
): void {
  sendNotice(store, to, conversationsPausedEmail(store.deps.config, accountName, conversations))
}

/** Tell a person about messages that wait. False over a limit: then nothing is sent. */
export async function trySendDigest(
  store: Store,
  to: string,
  link: string,
  digest: Parameters<typeof digestEmail>[2],
): Promise<boolean> {
  const isSent = await takeDigestAttempt(store, to)
  if (isSent) store.deps.email.send({ to, ...digestEmail(store.deps.config, link, digest) })
  else store.deps.log.warn('A mail digest was not sent: limit reached')
  return isSent
}
