/** What people are mailed, and when it is not. Security A1, E1. */
import type { Statement } from '../../store/driver/binding.ts'
import type { Store } from '../../store/store.ts'
import type { SentInvitation } from './invitations.ts'
import {
  addressChangedMail,
  invitationMail,
  type Letter,
  passwordChangedMail,
  passwordResetMail,
  signInMail,
  verifyAddressMail,
} from './email-templates.ts'
import { type MailedLinkKind, newLink } from './links.ts'
import { requireMailAttempt, takeMailAttempt } from './throttle.ts'

const letters = {
  sign_in: signInMail,
  reset: passwordResetMail,
  verify: verifyAddressMail,
  change_email: verifyAddressMail,
} satisfies Record<MailedLinkKind, unknown>

/** To whom a link goes. */
interface LinkTo {
  /** Null: nobody has the address. */
  userId: string | null
  email: string
  query?: string
  /** Statements of the same write. */
  ending?: Statement[]
}

/**
 * Mail a new link of a kind. An address without a person takes the same limits and the same work, and gets nothing,
 * so that whoever asks does not learn which it was (security E1). Beyond a limit there is no link and no mail either.
 */
export async function mailNewLink(
  store: Store,
  kind: MailedLinkKind,
  to: LinkTo,
  address: string,
): Promise<void> {
  if (await takeMailAttempt(store, to.email, address)) await mailAllowedLink(store, kind, to)
  else store.deps.log.info('A link was not mailed: over a limit', { kind })
}

/** The same for a person who is told when a limit is reached: with `rate_limit_exceeded`. */
export async function mailOwnLink(
  store: Store,
  kind: MailedLinkKind,
  to: { userId: string; email: string },
  address: string,
): Promise<void> {
  await requireMailAttempt(store, to.email, address)
  await mailAllowedLink(store, kind, to)
}

async function mailAllowedLink(
  store: Store,
  kind: MailedLinkKind,
  { userId, email, query = '', ending = [] }: LinkTo,
): Promise<void> {
  const { config, mail } = store.deps
  const { url, statement } = await newLink(store, kind, { userId, email })
  await store.write([...ending, statement])
  if (userId !== null) mail.send({ to: email, ...letters[kind](config, url + query) })
}

/** Mail an invitation; the limits were asked before it was made. */
export function mailInvitation(
  store: Store,
  { email, url, role }: SentInvitation,
  from: { invitedBy: string; accountName: string },
): void {
  store.deps.mail.send({ to: email, ...invitationMail(store.deps.config, url, { ...from, role }) })
}

/**
 * Tell a person what happened to them. No limit keeps it back: it follows only on what the person proved, and who
 * took their password could use the limits up before.
 */
function tell(store: Store, to: string, letter: Letter): void {
  store.deps.mail.send({ to, ...letter })
}

export function tellPasswordChanged(store: Store, to: string): void {
  tell(store, to, passwordChangedMail(store.deps.config))
}

/** To the address that the person had before. */
export function tellAddressChanged(store: Store, to: string): void {
  tell(store, to, addressChangedMail(store.deps.config))
}
