/** Sends emails within the limits. See docs/people.md, "Signing in", and docs/security.md, "Requests". */
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import type { LinkKind } from '../../store/global/links.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import {
  type EmailContent,
  invitationEmail,
  linkEmail,
  type SecondFactorChange,
  secondFactorChangedEmail,
} from './email-templates.ts'
import type { SentInvitation } from './invitations.ts'
import { linkExpired, linkLifetimeMs } from './people.ts'
import { requireEmailAttempt, type SilentPurpose, takeEmailAttempt } from './throttle.ts'

/** The target path of each kind of link, and its email. */
const links = {
  verify: { path: '/verify', email: 'verify_address' },
  sign_in: { path: '/sign-in-link', email: 'sign_in' },
  reset: { path: '/reset', email: 'password_reset' },
  change_email: { path: '/new-address', email: 'verify_address' },
} as const satisfies Record<EmailLinkKind, object>

interface LinkRecipient {
  userId: string | null
  email: string
  query?: string
  /** Statements that run first in the unit that stores the link. */
  precedingStatements?: Statement[]
}

/** Sends an email link, without revealing whether it was sent. An unknown address takes the same work. */
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

/** Sends a signed-in user the link that verifies the address. `address` is the client's network address. */
export async function sendVerificationLink(
  store: Store,
  { id, email }: { id: string; email: string },
  address: string,
): Promise<void> {
  await requireEmailAttempt(store, { purpose: 'verify', email, address })
  await createAndSendLink(store, 'verify', { userId: id, email })
}

async function createAndSendLink(
  store: Store,
  kind: EmailLinkKind,
  { userId, email, query = '', precedingStatements = [] }: LinkRecipient,
): Promise<void> {
  const { config, email: emailSender } = store.deps
  const { url, statement } = createEmailLink(store, kind, { userId, email })
  await store.write([...precedingStatements, statement])
  if (userId !== null) emailSender.send({ to: email, ...linkEmail(config, links[kind].email, url + query) })
}

/** Sends an invitation. Its limits were checked before it was created. */
export function sendInvitationEmail(
  store: Store,
  { email, url, role }: SentInvitation,
  from: { invitedBy: string; accountName: string },
): void {
  store.deps.email.send({ to: email, ...invitationEmail(store.deps.config, url, { ...from, role }) })
}

/** Notices have no limit, because they follow an authenticated change, and an attacker could use up a limit first. */
export function sendNotice(store: Store, to: string, content: EmailContent): void {
  store.deps.email.send({ to, ...content })
}

export function sendSecondFactorEmail(store: Store, to: string, change: SecondFactorChange): void {
  sendNotice(store, to, secondFactorChangedEmail(store.deps.config, change))
}

/** Kinds of email that go to existing users. A claim email may go to an address without a user (`claim-email.ts`). */
export type EmailLinkKind = Exclude<LinkKind, 'set_up' | 'claim'>

/** Creates a link. With a null `userId` it can never be used, and only makes unknown addresses take the same work. */
export function createEmailLink(
  { global, deps: { config, now } }: Store,
  kind: EmailLinkKind,
  to: { userId: string | null; email: string },
  lifetimeMs = linkLifetimeMs[kind],
): { url: string; statement: Statement } {
  const { token, hash } = mintLinkToken()
  const at = now()
  const link = { id: newId(), kind, tokenHash: hash, ...to, expiresAt: at + lifetimeMs }
  return { url: `${config.appUrl}${links[kind].path}/${token}`, statement: global.links.add(link, at) }
}

/** Returns the user and address of a link that is still valid. Does not use up the link. Fails with `link_expired`. */
export async function findEmailLink(
  { global, deps: { now } }: Store,
  kind: EmailLinkKind,
  token: string,
): Promise<{ userId: string; email: string }> {
  const link = await global.links.byToken(kind, hashForLookup(token), now())
  if (!link?.userId || !link.email) throw linkExpired()
  return { userId: link.userId, email: link.email }
}

/** Uses up a link and runs `statements` in the same unit. Fails with `link_expired` if another request was first. */
export async function redeemEmailLink(
  store: Store,
  kind: EmailLinkKind,
  token: string,
  statements: Statement[],
): Promise<void> {
  try {
    await store.write([...store.global.links.use(kind, hashForLookup(token), store.deps.now()), ...statements])
  } catch (error) {
    if (error instanceof GridError && error.code === 'write_conflict') throw linkExpired()
    throw error
  }
}
