/** Accounts, created on the command line or by users, and their admin keys. */
import { type Actor, callingUser, requireAdmin, requireConfirmed, type SignedInUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { newId } from '../../lib/id.ts'
import { mintKey } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { recordActivity, type RecordedCall } from '../activity.ts'
import { authorize } from '../authorize.ts'
import { checkName } from '../check-name.ts'
import { join } from '../people/join.ts'
import { mayBeSomebodyElse, takeOver } from '../people/prove-address.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

const maxOwned = 20

interface NewAccount {
  name: string
  ownerEmail: string
  /** PHC string of the owner's password, if one was given. */
  passwordHash?: string
}

/**
 * Creates an account with its owner and a first admin key, which is returned only here. If a user with the address
 * exists, that user becomes the owner and keeps their password, unless someone else may have registered the address.
 * With `call`, the first row of the activity log records the creation. Fails with `invalid_input` or `invalid_email`.
 */
export async function createAccount(
  store: Store,
  input: NewAccount,
  actor: Actor,
  call?: RecordedCall,
): Promise<{ id: string; userId: string; adminKey: string; isNewUser: boolean }> {
  const name = checkName(input.name, 'name')
  const email = normaliseEmail(input.ownerEmail, 'owner_email')
  const at = store.deps.now()
  const id = newId()
  const known = await store.global.users.byEmail(email)
  const userId = known?.id ?? newId()

  const account = store.account(id, actor)
  const { statement, key } = newAdminKey(account, 'first key')
  const create = async (account: AccountStore) =>
    account.write([
      store.global.accounts.add({ id, name, state: 'claimed', joinEmail: null }, at),
      ...(known && mayBeSomebodyElse(known) ? takeOver(store, userId, at) : []),
      ...(known ? [] : [store.global.users.add({ id: userId, email, passwordHash: input.passwordHash ?? null }, at)]),
      ...await join(account, { id: userId, role: 'owner' }, { by: 'operator' }),
      statement,
    ])
  try {
    await (call ? recordActivity(account, call, create) : create(account))
  } catch (error) {
    // The account exists if an earlier attempt succeeded and its response was lost.
    if (!(await store.global.accounts.byId(id))) throw error
  }
  return { id, userId, adminKey: key, isNewUser: known === undefined }
}

/**
 * Creates an empty account with the signed-in user as its only member and owner. Resolves to its id. Fails with
 * `not_allowed` (the email address is not verified), `invalid_input` or `write_conflict`.
 */
export async function createOwnedAccount(
  store: Store,
  input: { name: string },
  { user, sessionId }: SignedInUser,
  requestId: string | null,
): Promise<string> {
  const name = checkName(input.name, 'name')
  if (user.emailVerifiedAt === null) {
    throw new GridError(
      'not_allowed',
      'Verify your email address first, in your profile or by an email link: an account needs an owner who can be reached.',
    )
  }
  const { users, accounts } = store.global
  const [id, at] = [newId(), store.deps.now()]
  const account = store.account(id, { type: 'user', userId: user.id, role: 'owner', sessionId })
  const call = { tool: 'create_account', arguments: { name }, requestId }
  await retryOnConflict(async () => {
    const owned = (await users.memberships(user.id)).filter(({ role }) => role === 'owner')
    if (owned.length >= maxOwned) {
      throw new GridError('invalid_input', `A user can own at most ${maxOwned} accounts.`, { field: 'name' })
    }
    await recordActivity(account, call, async (account) =>
      account.write([
        users.requireOwnsFewerThan(user.id, maxOwned),
        accounts.add({ id, name, state: 'claimed', joinEmail: null }, at),
        ...await join(account, { id: user.id, role: 'owner' }, { by: 'creation', email: user.email }),
      ]))
  })
  return id
}

/** Renames the account. Fails with `not_allowed`, `invalid_input` or `write_conflict`. */
export async function renameAccount(account: AccountStore, input: { name: string }): Promise<{ name: string }> {
  const name = checkName(input.name, 'name')
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    await account.write([...precondition, account.change.profile.rename(name)])
    return { name }
  })
}

/**
 * Sets whether owners and admins of the account must have a second factor. The caller must have one to turn this on.
 * Fails with `not_allowed`, `confirmation_required`, `invalid_input` or `write_conflict`.
 */
export async function requireSecondFactor(
  account: AccountStore,
  { isRequired }: { isRequired: boolean },
): Promise<{ isRequired: boolean }> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, account.deps.now())
    const { userId } = callingUser(account.actor)
    if (isRequired && !(await account.read.team.member(userId))?.hasSecondFactor) {
      throw new GridError('invalid_input', 'Add a second factor of your own first, under Settings, Security.')
    }
    await account.write([...precondition, account.change.profile.requireSecondFactor(isRequired)])
    return { isRequired }
  })
}

/** Returns the store of an existing account, for a command of the operator. Fails with `account_not_found`. */
export async function openAccount(store: Store, id: string, actor: Actor): Promise<AccountStore> {
  const account = await store.global.accounts.byId(id)
  if (!account) throw new GridError('account_not_found', `No account has the id ${id}. list-accounts lists them.`)
  return store.account(account.id, actor)
}

/**
 * Creates an admin key, which is returned only here. A key that a user created works only while the user is an owner or
 * admin. Fails with `not_allowed`, `confirmation_required`, `invalid_input` or `write_conflict`.
 */
export async function createAdminKey(account: AccountStore, name: string): Promise<{ id: string; adminKey: string }> {
  requireAdmin(account.actor)
  const { statement, key, id } = newAdminKey(account, checkName(name, 'name'))
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'manage')
    requireConfirmed(account.actor, account.deps.now())
    await account.write([...precondition, statement])
    return { id, adminKey: key }
  })
}

/** Revokes an admin key. All processes refuse it from now on. Fails with `credential_not_found` or `write_conflict`. */
export async function deleteAdminKey(account: AccountStore, id: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await retryOnConflict(async () => {
    if (!(await account.read.keys.isLiveAdminKey(id))) {
      throw new GridError('credential_not_found', `No live admin key has the id ${id}.`)
    }
    const { keys } = account.change
    await account.write([keys.requireLiveAdminKey(id), keys.revokeAdminKey(id, account.deps.now())])
    return { id }
  })
}

function newAdminKey(account: AccountStore, name: string) {
  const { key, hash, last4 } = mintKey('admin_key')
  const userId = ('userId' in account.actor ? account.actor.userId : null) ?? null
  const row = { id: newId(), kind: 'admin_key' as const, agentId: null, userId, name, hash, last4 }
  return { statement: account.change.keys.add(row, account.deps.now()), key, id: row.id }
}
