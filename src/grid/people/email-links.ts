/** Email links that sign a user in, reset the password or verify the address. See docs/people.md, "Signing in". */
import type { SignedInUser } from '../../auth/actor.ts'
import { hashPassword } from '../../auth/passwords.ts'
import { GridError } from '../../errors.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import type { Store } from '../../store/store.ts'
import { revokeAllGrants } from '../oauth/grants.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { passwordChangedEmail } from './email-templates.ts'
import { linkExpired } from './people.ts'
import { endAccess, mayBeSomebodyElse, proveAddress, sortIdentities, takeOver } from './prove-address.ts'
import { type EmailLinkKind, findEmailLink, redeemEmailLink, sendNotice, trySendEmailLink } from './send-email.ts'

/** Paths allowed in an email. Otherwise a caller who requests an email could put their own text into it. */
const allowedPath =
  /^\/(accounts\/[0-9a-f-]{36}(\/[a-z-]{1,20}){0,3}|(invitations|claim|verify|new-address)\/[0-9A-Za-z]{43})$/

/**
 * Sends a link to the user of an email address, without revealing whether such a user exists. `next` is the path to
 * open afterwards.
 */
export async function requestEmailLink(
  store: Store,
  kind: 'sign_in' | 'reset',
  input: { email: string; next?: string },
  address: string,
): Promise<void> {
  const email = normaliseEmail(input.email, 'email')
  const user = await store.global.users.byEmail(email)
  const query = allowedPath.test(input.next ?? '') ? `?next=${encodeURIComponent(input.next!)}` : ''
  await trySendEmailLink(store, kind, { userId: user?.id ?? null, email, query }, address)
}

/** Returns the user of an email link; fails if their address has changed since. Does not use up the link. */
export async function findEmailLinkUser(
  store: Store,
  kind: Exclude<EmailLinkKind, 'change_email'>,
  token: string,
): Promise<{ userId: string; email: string }> {
  const link = await findEmailLink(store, kind, token)
  const user = await store.global.users.byId(link.userId)
  if (user?.email !== link.email) throw linkExpired()
  return link
}

/** The user of a followed link. `isUnlinked`: the user lost an identity at a sign-in provider, see `proveAddress`. */
export interface Proved {
  userId: string
  isUnlinked: boolean
}

/**
 * Uses up a sign-in link, which also verifies the address. `session` is the browser's live session. Fails with
 * `link_expired`.
 */
export async function signInByLink(
  store: Store,
  token: string,
  requestId: string | null,
  session?: SignedInUser,
): Promise<Proved> {
  const { global: { links, users }, deps: { now } } = store
  const hash = hashForLookup(token)
  return await retryOnConflict(async () => {
    const { userId } = await findEmailLinkUser(store, 'sign_in', token)
    const user = await users.byId(userId)
    if (!user) throw linkExpired()
    const at = now()
    const { isUnlinked } = await proveAddress(store, user, {
      requireOpen: links.requireOpen('sign_in', hash, at),
      use: [...links.use('sign_in', hash, at), links.endOpen(userId, 'sign_in', at)],
      session,
      requestId,
    })
    return { userId, isUnlinked }
  })
}

/**
 * Sets a new password with a reset link. Because an attacker may have known the old one, this ends all sessions, email
 * links, OAuth grants and open consent pages of the user, and an email informs them. `session` is the browser's live
 * session. Fails with `link_expired` or `invalid_input`.
 */
export async function resetPassword(
  store: Store,
  token: string,
  password: string,
  requestId: string | null,
  session?: SignedInUser,
): Promise<Proved> {
  await findEmailLinkUser(store, 'reset', token)
  const hash = await hashPassword(password)
  const { global, deps: { now } } = store
  const tokenHash = hashForLookup(token)
  const { userId, email, isUnlinked } = await retryOnConflict(async () => {
    const { userId, email } = await findEmailLinkUser(store, 'reset', token)
    const user = await global.users.byId(userId)
    const at = now()
    const taken = user && mayBeSomebodyElse(user) ? await sortIdentities(store, user, session) : undefined
    await revokeAllGrants(store, {
      userId,
      tool: 'reset_password',
      requestId,
      precondition: [global.links.requireOpen('reset', tokenHash, at)],
      statements: [
        ...global.links.use('reset', tokenHash, at),
        ...(taken ? takeOver(store, userId, at, taken.kept) : endAccess(store, userId, at)),
        global.users.setPassword(userId, hash),
        global.users.verifyEmail(userId, email, at),
      ],
    })
    return { userId, email, isUnlinked: taken !== undefined && taken.removed.length > 0 }
  })
  sendNotice(store, email, passwordChangedEmail(store.deps.config))
  return { userId, isUnlinked }
}

export async function verifyEmail(store: Store, token: string, userId: string): Promise<void> {
  const link = await findEmailLinkUser(store, 'verify', token)
  checkLinkOwner(link, userId)
  await redeemEmailLink(store, 'verify', token, [store.global.users.verifyEmail(userId, link.email, store.deps.now())])
}

export function checkLinkOwner(link: { userId: string }, userId: string): void {
  if (link.userId === userId) return
  throw new GridError('not_allowed', 'This link is for another user. Sign in as that user to use it.')
}
