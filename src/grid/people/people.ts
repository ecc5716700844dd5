/** Users: set-up of the first one, and sign-in with a password. */
import { hashPassword, signInFailed, verifyPassword } from '../../auth/passwords.ts'
import { GridError } from '../../errors.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import { day, minute } from '../../lib/time.ts'
import type { LinkKind } from '../../store/global/links.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../check-name.ts'
import { join } from './join.ts'
import { takeSignInAttempt } from './throttle.ts'

/** Lifetime of each kind of one-time link, in milliseconds. See docs/people.md, "Signing in". */
export const linkLifetimeMs: Record<LinkKind, number> = {
  set_up: day,
  verify: 15 * minute,
  sign_in: 15 * minute,
  reset: 15 * minute,
  change_email: 15 * minute,
  claim: day,
}

/** Creates the link that sets up the first account, and ends earlier ones. Undefined if the grid already has users. */
export async function createSetUpLink(store: Store): Promise<string | undefined> {
  const { global, deps: { config, now } } = store
  if (await global.users.any()) return undefined
  const { token, hash } = mintLinkToken()
  const at = now()
  const link = { id: newId(), kind: 'set_up' as const, tokenHash: hash, userId: null, email: null }
  await store.write([
    global.links.endOpen(null, 'set_up', at),
    global.links.add({ ...link, expiresAt: at + linkLifetimeMs.set_up }, at),
  ])
  return `${config.appUrl}/set-up/${token}`
}

/** `done` if the grid has a user; `ended` if the link has expired, was replaced at a later start, or is unknown. */
export async function setUpState(store: Store, token: string): Promise<'open' | 'done' | 'ended'> {
  const { global, deps: { now } } = store
  if (await global.users.any()) return 'done'
  return await global.links.byToken('set_up', hashForLookup(token), now()) ? 'open' : 'ended'
}

interface SetUpInput {
  accountName: string
  name: string
  email: string
  password: string
}

/** Creates the first account and its owner. The address counts as verified: the link was in the server's log. */
export async function setUp(store: Store, token: string, input: SetUpInput): Promise<{ userId: string; id: string }> {
  const { global, deps: { now } } = store
  if (await setUpState(store, token) !== 'open') throw linkExpired()
  const accountName = checkName(input.accountName, 'accountName')
  const name = checkName(input.name, 'name')
  const email = normaliseEmail(input.email, 'email')
  const passwordHash = await hashPassword(input.password)
  const [id, userId, at] = [newId(), newId(), now()]
  const account = store.account(id, { type: 'system', job: 'set-up' })
  try {
    await store.write([
      ...global.links.use('set_up', hashForLookup(token), at),
      global.accounts.add({ id, name: accountName, state: 'claimed', joinEmail: null }, at),
      global.users.add({ id: userId, email, name, passwordHash, verifiedAt: at }, at),
      ...await join(account, { id: userId, role: 'owner' }, { by: 'operator' }),
    ])
  } catch (error) {
    // The account exists if an earlier attempt succeeded and its response was lost.
    if (await global.accounts.byId(id)) return { userId, id }
    if (error instanceof GridError && error.code === 'write_conflict') throw linkExpired()
    throw error
  }
  return { userId, id }
}

/**
 * Verifies an email address and password. Resolves to the user and the password hash. Takes the same time for an
 * unknown address. Fails with `sign_in_failed` or `rate_limit_exceeded`. See docs/people.md, "Signing in", and
 * docs/security.md, "Requests".
 */
export async function signIn(
  store: Store,
  input: { email: string; password: string },
  address: string,
): Promise<{ userId: string; passwordHash: string }> {
  const email = signInEmail(input.email)
  const attempt = await takeSignInAttempt(store, email, address)
  const user = await store.global.users.byEmail(email)
  const isRight = await verifyPassword(user?.passwordHash, input.password, { hasPriority: attempt.isFamiliar })
  if (!user || user.passwordHash === null || !isRight) throw signInFailed()
  await attempt.succeeded()
  return { userId: user.id, passwordHash: user.passwordHash }
}

/** Checks a signed-in user's password. Guesses count as sign-in attempts. Fails with `wrong`. */
export async function checkPassword(
  store: Store,
  user: { email: string; passwordHash: string | null | undefined },
  { password, address }: { password: string; address: string },
  wrong: GridError,
): Promise<void> {
  const attempt = await takeSignInAttempt(store, user.email, address)
  if (!(await verifyPassword(user.passwordHash, password, { hasPriority: true }))) throw wrong
  await attempt.succeeded()
}

/** Normalises the address. A malformed one becomes empty and fails like an unknown one, because no user has it. */
function signInEmail(text: string): string {
  try {
    return normaliseEmail(text, 'email')
  } catch {
    return ''
  }
}

export function linkExpired(): GridError {
  return new GridError('link_expired', 'This link was used already or has expired. Ask for a new one.')
}
