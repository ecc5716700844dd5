/** Operations on users that the operator runs on the command line. */
import { GridError } from '../../errors.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { day } from '../../lib/time.ts'
import type { User } from '../../store/global/users.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { type ActivityActor, activityRow } from '../activity.ts'
import { createEmailLink } from './send-email.ts'

const maxAccountsAtOnce = 20
/** The same lifetime as a set-up link, because the operator may pass it on. */
const printedLinkLifetimeMs = day

export async function findUser(store: Store, email: string): Promise<User> {
  const user = await store.global.users.byEmail(normaliseEmail(email, 'email'))
  if (!user) throw new GridError('not_found', 'There is no user with this email address.')
  return user
}

/** Runs statements on a user, and records `command` in the activity log of each of the user's accounts. */
export async function changeUser(
  store: Store,
  user: Pick<User, 'id' | 'email'>,
  command: string,
  statements: Statement[],
  actor: ActivityActor = { type: 'system', job: command },
): Promise<void> {
  const call = { tool: command, arguments: { userId: user.id, email: user.email }, requestId: null }
  const rows = (await store.global.users.memberships(user.id)).map(({ id }) => ({
    accountId: id,
    entry: activityRow(actor, call, 'ok', store.deps.now()),
  }))
  // The change is committed with the last rows, so it is never made without being recorded everywhere.
  for (let n = maxAccountsAtOnce; n < rows.length; n += maxAccountsAtOnce) {
    await store.record(rows.slice(n, n + maxAccountsAtOnce), [])
  }
  await store.record(rows.slice(0, maxAccountsAtOnce), statements)
}

/** Creates a link for the operator to pass on. It verifies the address, because the operator vouches for it. */
export async function createLinkFor(
  store: Store,
  email: string,
  kind: 'sign_in' | 'reset',
  command: string,
): Promise<{ userId: string; url: string }> {
  const user = await findUser(store, email)
  const { url, statement } = printedLink(store, kind, user)
  await changeUser(store, user, command, [statement])
  return { userId: user.id, url }
}

/** Returns how the owner of a new account signs in: with a one-time link if they are a new user without a password. */
export async function signInUrlOfOwner(
  store: Store,
  owner: { userId: string; isNewUser: boolean },
): Promise<{ url: string; worksOnce: boolean }> {
  const user = owner.isNewUser ? await store.global.users.byId(owner.userId) : undefined
  if (!user || user.passwordHash !== null) {
    return { url: `${store.deps.config.appUrl}/sign-in`, worksOnce: false }
  }
  const { url, statement } = printedLink(store, 'sign_in', user)
  await store.write([statement])
  return { url, worksOnce: true }
}

function printedLink(store: Store, kind: 'sign_in' | 'reset', { id, email }: User) {
  return createEmailLink(store, kind, { userId: id, email }, printedLinkLifetimeMs)
}

export async function findLockedOutUser(store: Store): Promise<string | undefined> {
  if (store.deps.email.isConfigured) return undefined
  return (await store.global.users.firstLockedOut())?.email
}
