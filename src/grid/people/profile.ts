/** Users' changes to their own profile: name, keyboard, password and email address. */
import { hashPassword } from '../../auth/passwords.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { invalidInput } from '../../errors.ts'
import type { User } from '../../store/global/users.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../check-name.ts'
import { checkLinkOwner } from './email-links.ts'
import { addressChangedEmail, passwordChangedEmail } from './email-templates.ts'
import { checkPassword, linkExpired } from './people.ts'
import { findEmailLink, redeemEmailLink, sendNotice, trySendEmailLink } from './send-email.ts'

export async function setUserName(store: Store, userId: string, name: string): Promise<void> {
  await store.write([store.global.users.setName(userId, checkName(name, 'name'))])
}

export async function setShortcuts(store: Store, userId: string, on: boolean): Promise<void> {
  await store.write([store.global.users.setShortcuts(userId, on)])
}

/** Changes the password. Sessions and links end; OAuth grants stay, so that clients are not disconnected. */
export async function changePassword(
  store: Store,
  userId: string,
  input: { current: string; password: string },
  address: string,
): Promise<void> {
  const { global, deps: { now } } = store
  const user = await checkCurrentPassword(store, userId, input.current, address)
  const hash = await hashPassword(input.password)
  await store.write([
    global.users.requirePassword(userId, user.passwordHash),
    global.users.setPassword(userId, hash),
    global.sessions.endOthers(userId, '', now()),
    global.links.endAll(userId, now()),
  ])
  sendNotice(store, user.email, passwordChangedEmail(store.deps.config))
}

/** Sends a link to a new email address. Does not reveal whether another user has the address. */
export async function requestEmailChange(
  store: Store,
  userId: string,
  input: { email: string; current: string },
  address: string,
): Promise<void> {
  const email = normaliseEmail(input.email, 'email')
  const user = await checkCurrentPassword(store, userId, input.current, address)
  if (user.email === email) {
    throw invalidInput('This is already your email address.', 'email')
  }
  const isFree = (await store.global.users.byEmail(email)) === undefined
  const precedingStatements = [store.global.links.endOpen(userId, 'change_email', store.deps.now())]
  await trySendEmailLink(store, 'change_email', { userId: isFree ? userId : null, email, precedingStatements }, address)
}

/** Changes the email address to the link's address. All other links end, and an email informs the old address. */
export async function confirmEmailChange(store: Store, token: string, userId: string): Promise<string> {
  const link = await findEmailLink(store, 'change_email', token)
  checkLinkOwner(link, userId)
  const { global, deps: { now } } = store
  const user = await findUser(store, userId)
  await redeemEmailLink(store, 'change_email', token, [
    // Runs before the address changes, because it also ends links that are stored only with the old address.
    global.links.endAll(userId, now()),
    global.users.setEmail(userId, link.email, now()),
  ])
  sendNotice(store, user.email, addressChangedEmail(store.deps.config))
  return link.email
}

/** Returns the user if `current` is their password. */
async function checkCurrentPassword(
  store: Store,
  userId: string,
  current: string,
  address: string,
): Promise<User & { passwordHash: string }> {
  const user = await findUser(store, userId)
  if (user.passwordHash === null) {
    throw invalidInput('You have no password yet. Request an email link to set one.', 'current')
  }
  const wrong = invalidInput('This is not your current password.', 'current')
  await checkPassword(store, user, { password: current, address }, wrong)
  return { ...user, passwordHash: user.passwordHash }
}

async function findUser(store: Store, userId: string): Promise<User> {
  const user = await store.global.users.byId(userId)
  if (!user) throw linkExpired()
  return user
}
