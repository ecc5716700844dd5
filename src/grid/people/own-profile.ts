/** What people change about themselves. */
import { hashPassword, verifyPassword } from '../../auth/passwords.ts'
import { GridError } from '../../errors.ts'
import type { User } from '../../store/global/users.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../accounts/accounts.ts'
import { normalEmail } from './email-address.ts'
import { mailNewLink, tellAddressChanged, tellPasswordChanged } from './send-email.ts'
import { openLink, withLink } from './links.ts'
import { checkOwner } from './email-links.ts'
import { linkExpired } from './people.ts'
import { takeSignInAttempt } from './throttle.ts'

/** Fails with `invalid_input`. */
export async function setOwnName(store: Store, userId: string, name: string): Promise<void> {
  await store.write([store.global.users.setName(userId, checkName(name, 'name'))])
}

/**
 * Choose another password. Every session of the person ends, also the one that asks, and every open link; a mail
 * says so. What they let OAuth clients do goes on: it was never proved by a password, ends on its own page, and
 * people who change theirs now and then would lose their programs each time. Who lost theirs takes `resetPassword`.
 * Fails with `invalid_input`, which names `current` or `password`, or `rate_limit_exceeded`.
 */
export async function changePassword(
  store: Store,
  userId: string,
  input: { current: string; password: string },
  address: string,
): Promise<void> {
  const { global, deps: { now } } = store
  const user = await checkCurrent(store, userId, input.current, address)
  const hash = await hashPassword(input.password)
  await store.write([
    global.users.requirePassword(userId, user.passwordHash),
    global.users.setPassword(userId, hash),
    global.sessions.endOthers(userId, '', now()),
    global.links.endAll(userId, now()),
  ])
  tellPasswordChanged(store, user.email)
}

/**
 * Send a link to another address; using it makes that address the person's. Says nothing about whether somebody
 * has it. Fails with `invalid_email`, `invalid_input`, which names `current`, or `rate_limit_exceeded`.
 */
export async function askForNewEmail(
  store: Store,
  userId: string,
  input: { email: string; current: string },
  address: string,
): Promise<void> {
  const email = normalEmail(input.email, 'email')
  const user = await checkCurrent(store, userId, input.current, address)
  if (user.email === email) {
    throw new GridError('invalid_input', 'This is your address already.', { field: 'email' })
  }
  const isFree = (await store.global.users.byEmail(email)) === undefined
  const ending = [store.global.links.endOpen(userId, 'change_email', store.deps.now())]
  await mailNewLink(store, 'change_email', { userId: isFree ? userId : null, email, ending }, address)
}

/**
 * Take the address that a link was sent to. Links sent to the old one end, and a mail tells it.
 * Fails with `link_expired` or `not_allowed`.
 */
export async function takeNewEmail(store: Store, token: string, userId: string): Promise<string> {
  const link = await openLink(store, 'change_email', token)
  checkOwner(link, userId)
  const { global, deps: { now } } = store
  const user = await findUser(store, userId)
  await withLink(store, 'change_email', token, [
    // First, while the address is still the old one.
    global.links.endAll(userId, now()),
    global.users.setEmail(userId, link.email, now()),
  ])
  tellAddressChanged(store, user.email)
  return link.email
}

/**
 * The person, when the password they have is the one given: whoever found an open browser must not change it, and
 * guesses as slowly as at the sign-in. People without one get it by a link to their mailbox.
 */
async function checkCurrent(
  store: Store,
  userId: string,
  current: string,
  address: string,
): Promise<User & { passwordHash: string }> {
  const user = await findUser(store, userId)
  if (user.passwordHash === null) {
    throw new GridError('invalid_input', 'Choose a password first, by a link to your address.', { field: 'current' })
  }
  const attempt = await takeSignInAttempt(store, user.email, address)
  if (!(await verifyPassword(user.passwordHash, current))) {
    throw new GridError('invalid_input', 'This is not your current password.', { field: 'current' })
  }
  await attempt.succeeded()
  return { ...user, passwordHash: user.passwordHash }
}

async function findUser(store: Store, userId: string): Promise<User> {
  const user = await store.global.users.byId(userId)
  if (!user) throw linkExpired()
  return user
}
