/** People: how the first of them comes to the grid, and how they sign in. */
import { hashPassword, signInFailed, verifyPassword } from '../../auth/passwords.ts'
import { hashForLookup, mintLinkToken } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { day, minute } from '../../lib/time.ts'
import type { LinkKind } from '../../store/global/links.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../accounts/accounts.ts'
import { normalEmail } from './email-address.ts'
import { takeSignInAttempt } from './throttle.ts'

/** How long each kind of one-time link can be used. Security: section 8. */
export const linkLifetimeMs: Record<LinkKind, number> = {
  set_up: day,
  verify: 15 * minute,
  sign_in: 15 * minute,
  reset: 15 * minute,
  change_email: 15 * minute,
  claim: day,
}

/**
 * The one-time link by which the first person of an empty grid makes their account; undefined when there is somebody.
 * A new one ends the one before.
 */
export async function setUpLink(store: Store): Promise<string | undefined> {
  const { global, deps: { config, now } } = store
  if (await global.users.any()) return undefined
  const { token, hash } = await mintLinkToken()
  const at = now()
  const link = { id: newId(), kind: 'set_up' as const, tokenHash: hash, userId: null, email: null }
  await store.write([
    global.links.endOpen(null, 'set_up', at),
    global.links.add({ ...link, expiresAt: at + linkLifetimeMs.set_up }, at),
  ])
  return `${config.appUrl}/set-up/${token}`
}

/** Whether a set-up link can still be used. */
export async function isSetUpOpen(store: Store, token: string): Promise<boolean> {
  const { global, deps: { now } } = store
  return !(await global.users.any()) &&
    (await global.links.byToken('set_up', hashForLookup(token), now())) !== undefined
}

export interface SetUp {
  accountName: string
  name: string
  email: string
  password: string
}

/**
 * Make the first account and its owner. Who holds the link reads the server's output, where the mailed links
 * of a grid without mail stand too: so the mailbox counts as proved.
 * Fails with `link_expired`, `invalid_input` or `invalid_email`.
 */
export async function setUp(store: Store, token: string, input: SetUp): Promise<{ userId: string; id: string }> {
  const { global, deps: { now } } = store
  if (!(await isSetUpOpen(store, token))) throw linkExpired()
  const accountName = checkName(input.accountName, 'accountName')
  const name = checkName(input.name, 'name')
  const email = normalEmail(input.email, 'email')
  const passwordHash = await hashPassword(input.password)
  const [id, userId, at] = [newId(), newId(), now()]
  try {
    await store.write([
      ...global.links.use('set_up', hashForLookup(token), at),
      global.accounts.add({ id, name: accountName, state: 'claimed', joinEmail: null }, at),
      global.users.add({ id: userId, email, name, passwordHash, verifiedAt: at }, at),
      global.users.addMembership(id, userId, 'owner', at),
    ])
  } catch (error) {
    // Repeated after a lost answer, the write met its own account: then it is done.
    if (await global.accounts.byId(id)) return { userId, id }
    if (error instanceof GridError && error.code === 'write_conflict') throw linkExpired()
    throw error
  }
  return { userId, id }
}

/**
 * The person behind a mail address and a password, and the hash that it was checked against. Takes as long for an
 * address that nobody has. `address` is the client's, as limits count it. Fails with `sign_in_failed` or
 * `rate_limit_exceeded`. Security: A5, E1.
 */
export async function signIn(
  store: Store,
  input: { email: string; password: string },
  address: string,
): Promise<{ userId: string; passwordHash: string }> {
  const email = signInEmail(input.email)
  const attempt = await takeSignInAttempt(store, email, address)
  const user = await store.global.users.byEmail(email)
  const isRight = await verifyPassword(user?.passwordHash, input.password)
  if (!user || user.passwordHash === null || !isRight) throw signInFailed()
  await attempt.succeeded()
  return { userId: user.id, passwordHash: user.passwordHash }
}

/** What is no address belongs to nobody; it is answered like any other wrong one. */
function signInEmail(text: string): string {
  try {
    return normalEmail(text, 'email')
  } catch {
    return ''
  }
}

/** What is said of every link that opens nothing. */
export function linkExpired(): GridError {
  return new GridError('link_expired', 'This link was used already or has expired. Ask for a new one.')
}
