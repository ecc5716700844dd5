/** What people do with a link in their mailbox: sign in, choose a new password, show that an address is theirs. */
import { hashPassword } from '../../auth/passwords.ts'
import { hashForLookup } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import type { Store } from '../../store/store.ts'
import { endAllGrants } from '../oauth/all-grants.ts'
import { againOnConflict } from '../retry-on-conflict.ts'
import { normalEmail } from './email-address.ts'
import { mailNewLink, mailOwnLink, tellPasswordChanged } from './send-email.ts'
import { type MailedLinkKind, openLink, withLink } from './links.ts'
import { linkExpired } from './people.ts'

/** Paths that a mail may carry: whoever asks for it must not get a sentence of their own into it. */
const mailable =
  /^\/(accounts\/[0-9a-f-]{36}(\/[a-z-]{1,20}){0,3}|(invitations|claim|verify|new-address)\/[0-9A-Za-z]{43})$/

/**
 * Send a link to sign in with, or to choose a new password with, to the person of an address. Says nothing about
 * whether there is one. `next` is a path of ours to go on at. Fails with `invalid_email`.
 */
export async function askForLink(
  store: Store,
  kind: 'sign_in' | 'reset',
  input: { email: string; next?: string },
  address: string,
): Promise<void> {
  const email = normalEmail(input.email, 'email')
  const user = await store.global.users.byEmail(email)
  const query = mailable.test(input.next ?? '') ? `?next=${encodeURIComponent(input.next!)}` : ''
  await mailNewLink(store, kind, { userId: user?.id ?? null, email, query }, address)
}

/** Send a link that verifies the address of the signed-in person. Fails with `rate_limit_exceeded`. */
export async function askForVerification(
  store: Store,
  user: { id: string; email: string },
  address: string,
): Promise<void> {
  await mailOwnLink(store, 'verify', { userId: user.id, email: user.email }, address)
}

/**
 * The person that a mailed link stands for, unless their address has changed since. Looking does not use it up.
 * Fails with `link_expired`.
 */
export async function openMailedLink(
  store: Store,
  kind: Exclude<MailedLinkKind, 'change_email'>,
  token: string,
): Promise<{ userId: string; email: string }> {
  const link = await openLink(store, kind, token)
  const user = await store.global.users.byId(link.userId)
  if (user?.email !== link.email) throw linkExpired()
  return link
}

/** Sign in by a mailed link, which also verifies the address. Resolves to the person's id. Fails with `link_expired`. */
export async function signInByLink(store: Store, token: string): Promise<string> {
  const { userId, email } = await openMailedLink(store, 'sign_in', token)
  const { global, deps: { now } } = store
  await withLink(store, 'sign_in', token, [
    global.users.proveEmail(userId, email, now()),
    global.links.endOpen(userId, 'sign_in', now()),
  ])
  return userId
}

/**
 * Choose a new password by a mailed link. Somebody else may have had the old one, and have let a program of theirs in
 * with it: so not only every session and every other link of the person ends, but also what they let OAuth clients
 * do, and a consent page that waits is not answered any more. A mail says that the password is another one, and the
 * log of each account where a program lost its access says that.
 * Resolves to the person's id. Fails with `link_expired` or `invalid_input`.
 */
export async function resetPassword(
  store: Store,
  token: string,
  password: string,
  requestId: string | null,
): Promise<string> {
  await openMailedLink(store, 'reset', token)
  const hash = await hashPassword(password)
  const { global, deps: { now } } = store
  const tokenHash = hashForLookup(token)
  const { userId, email } = await againOnConflict(async () => {
    const { userId, email } = await openMailedLink(store, 'reset', token)
    const at = now()
    await endAllGrants(store, {
      userId,
      tool: 'reset_password',
      requestId,
      demand: [global.links.requireOpen('reset', tokenHash, at)],
      statements: [
        ...global.links.use('reset', tokenHash, at),
        global.users.setPassword(userId, hash),
        global.users.proveEmail(userId, email, at),
        global.sessions.endOthers(userId, '', at),
        global.links.endAll(userId, at),
        // What is being allowed at this moment is one of the grants by now, or finds no page any more.
        global.oauth.requests.removeOfUser(userId),
      ],
    })
    return { userId, email }
  })
  tellPasswordChanged(store, email)
  return userId
}

/**
 * Verify the address of the signed-in person. Somebody else's link is refused: a link that is clicked by whoever
 * did not ask for it must not vouch for a stranger. Fails with `link_expired` or `not_allowed`.
 */
export async function verifyEmail(store: Store, token: string, userId: string): Promise<void> {
  const link = await openMailedLink(store, 'verify', token)
  checkOwner(link, userId)
  await withLink(store, 'verify', token, [store.global.users.proveEmail(userId, link.email, store.deps.now())])
}

/** That a link is the signed-in person's. Fails with `not_allowed`. */
export function checkOwner(link: { userId: string }, userId: string): void {
  if (link.userId === userId) return
  throw new GridError('not_allowed', 'This link is for somebody else. Sign in as that person to use it.')
}
