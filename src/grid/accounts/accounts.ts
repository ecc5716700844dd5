/** Accounts, as made on the command line and by people, and their admin keys. */
import { type Actor, requireAdmin } from '../../auth/actor.ts'
import { mintKey } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { wellFormed } from '../../lib/text.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Store } from '../../store/store.ts'
import { type Call, recorded } from '../activity.ts'
import { againOnConflict } from '../retry-on-conflict.ts'
import { normalEmail } from '../people/email-address.ts'
import { standing } from '../authorize.ts'

const maxNameLength = 80
/** What makes a name look like another one, or like none: controls, directions, fillers, tags. Security T7, C2. */
const unseen = /(?![\u200c\u200d\ufe0e\ufe0f])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/u
/** Joiners and variation selectors make emoji, and letters of some scripts, what they are; behind these they do nothing. */
const idleJoiner = /(?:^|[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Z}])[\u200c\u200d\ufe0e\ufe0f]/u
/** How many accounts one person may own before they cannot make another one. */
export const maxOwned = 20

export interface NewAccount {
  name: string
  ownerEmail: string
  /** PHC string of the owner's password, if one was given. */
  passwordHash?: string
}

/**
 * Create an account with its owner and a first admin key, shown here only. A person
 * who is known by that address becomes the owner and keeps the password they have.
 * With `call` it is the first row of the account's activity log.
 * Fails with `invalid_input` or `invalid_email`.
 */
export async function createAccount(
  store: Store,
  input: NewAccount,
  actor: Actor,
  call?: Call,
): Promise<{ id: string; userId: string; adminKey: string }> {
  const name = checkName(input.name, 'name')
  const email = normalEmail(input.ownerEmail)
  const at = store.deps.now()
  const id = newId()
  const known = await store.global.users.byEmail(email)
  const userId = known?.id ?? newId()

  const account = store.account(id, actor)
  const { statement, key } = await adminKey(account, 'first key')
  const make = (account: AccountStore) =>
    account.write([
      store.global.accounts.add({ id, name, state: 'claimed', joinEmail: null }, at),
      ...(known ? [] : [store.global.users.add({ id: userId, email, passwordHash: input.passwordHash ?? null }, at)]),
      store.global.users.addMembership(id, userId, 'owner', at),
      statement,
    ])
  try {
    await (call ? recorded(account, call, make) : make(account))
  } catch (error) {
    // Repeated after a lost answer, the write met its own account: then it is done.
    if (!(await store.global.accounts.byId(id))) throw error
  }
  return { id, userId, adminKey: key }
}

/** Who makes an account for themselves. */
export interface Founder {
  user: { id: string; email: string; emailVerifiedAt: number | null }
  sessionId: string
}

/**
 * Make another account, which the person owns. It begins empty, and with nobody else.
 * Resolves to its id. Fails with `not_allowed` (the mailbox is not proved) or `invalid_input`.
 */
export async function makeAccount(
  store: Store,
  input: { name: string },
  { user, sessionId }: Founder,
  requestId: string | null,
): Promise<string> {
  const name = checkName(input.name, 'name')
  if (user.emailVerifiedAt === null) {
    throw new GridError(
      'not_allowed',
      'Verify your address first, in your profile or by a mailed link: an account needs an owner who can be reached.',
    )
  }
  const { users, accounts } = store.global
  const [id, at] = [newId(), store.deps.now()]
  const account = store.account(id, { type: 'user', userId: user.id, role: 'owner', sessionId })
  const call = { tool: 'create_account', arguments: { name }, requestId }
  await againOnConflict(async () => {
    const owned = (await users.memberships(user.id)).filter(({ role }) => role === 'owner')
    if (owned.length >= maxOwned) {
      throw new GridError('invalid_input', `One person can own at most ${maxOwned} accounts.`, { field: 'name' })
    }
    await recorded(account, call, (account) =>
      account.write([
        users.requireProved(user.id, user.email),
        users.requireOwnsFewer(user.id, maxOwned),
        accounts.add({ id, name, state: 'claimed', joinEmail: null }, at),
        users.addMembership(id, user.id, 'owner', at),
      ]))
  })
  return id
}

/** Give the account another name. Fails with `not_allowed` or `invalid_input`. */
export async function renameAccount(account: AccountStore, input: { name: string }): Promise<{ name: string }> {
  const name = checkName(input.name, 'name')
  return await againOnConflict(async () => {
    const { demand } = await standing(account, 'own')
    await account.write([...demand, account.change.profile.rename(name)])
    return { name }
  })
}

/** The door to an existing account. Fails with `account_not_found`. */
export async function enterAccount(store: Store, id: string, actor: Actor): Promise<AccountStore> {
  const account = await store.global.accounts.byId(id)
  if (!account) throw new GridError('account_not_found', `No account has the id ${id}.`)
  return store.account(account.id, actor)
}

/**
 * A new admin key of the account, shown here only. Made by a person, it works while they are owner or admin.
 * Fails with `not_allowed` or `invalid_input`.
 */
export async function createAdminKey(account: AccountStore, name: string): Promise<{ id: string; adminKey: string }> {
  requireAdmin(account.actor)
  const { statement, key, id } = await adminKey(account, checkName(name, 'name'))
  return await againOnConflict(async () => {
    const { demand } = await standing(account, 'manage')
    await account.write([...demand, statement])
    return { id, adminKey: key }
  })
}

/** End an admin key at once: its next request is refused, in every process. Fails with `credential_not_found`. */
export async function deleteAdminKey(account: AccountStore, id: string): Promise<{ id: string }> {
  requireAdmin(account.actor)
  return await againOnConflict(async () => {
    if (!(await account.read.keys.isLiveAdminKey(id))) {
      throw new GridError('credential_not_found', `No live admin key has the id ${id}.`)
    }
    const { keys } = account.change
    await account.write([keys.requireLiveAdminKey(id), keys.revokeAdminKey(id, account.deps.now())])
    return { id }
  })
}

async function adminKey(account: AccountStore, name: string) {
  const { key, hash, last4 } = await mintKey('admin_key')
  const userId = ('userId' in account.actor ? account.actor.userId : null) ?? null
  const row = { id: newId(), kind: 'admin_key' as const, agentId: null, userId, name, hash, last4 }
  return { statement: account.change.keys.add(row, account.deps.now()), key, id: row.id }
}

/** The name of an account, a person or a key. Fails with `invalid_input`, which names `field`. */
export function checkName(text: string, field: string): string {
  const name = wellFormed(text)?.trim()
  if (!name || name.length > maxNameLength) {
    throw new GridError('invalid_input', `A name has 1 to ${maxNameLength} characters.`, { field })
  }
  if (unseen.test(name) || idleJoiner.test(name)) {
    throw new GridError('invalid_input', 'A name has no control characters and no invisible ones.', { field })
  }
  return name
}
