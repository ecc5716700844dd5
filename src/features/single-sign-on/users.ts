/** Users of a provider: sign-in, roles, and linking of identities. See docs/people.md, "Single sign-on". */
import { textOf } from '../../lib/text.ts'
import { type Role, roles, type SignedInUser } from '../../auth/actor.ts'
import type { OidcProvider, OidcUser } from './oidc.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { plainName } from '../../lib/names.ts'
import type { AccountStore } from '../../store/account.ts'
import type { AccountMember } from '../../store/account/team.ts'
import { allSso, type NewSignIn, type SsoProvider, ssoTables } from './store.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../../grid/check-name.ts'
import { recordActivity } from '../../grid/activity.ts'
import { join } from '../../grid/people/join.ts'
import { changeUser } from '../../grid/people/operator.ts'
import { addressOf, type ClaimRules, reportOf, roleOf, type SaidAddress } from './claims.ts'
import { proveMember, SsoRefusal } from './joining.ts'
import { setMemberRole } from '../../grid/people/team.ts'

/** A provider that people can sign in with. */
export interface Provider extends OidcProvider {
  id: string
  name: string
  rules: ClaimRules
  /** The provider's account; undefined for the grid's own provider. */
  of: SsoProvider | undefined
}

/** Finds or creates the identity's user. Never matches users by email address. Fails with `not_allowed`. */
export async function signIn(
  store: Store,
  provider: Provider,
  who: OidcUser,
  requestId: string | null,
): Promise<string> {
  const known = await store.feature(allSso).userOf(who.issuer, who.subject)
  const { of } = provider
  if (of) return await enter(store, { provider, of, who, known, requestId })
  if (known !== undefined) return known
  const userId = newId()
  await store.write(await newUser(store, provider, who, userId))
  return userId
}

/** Returns statements that add the user. An unverified address is stored as such: it may be someone else's. */
async function newUser(
  { global, feature, deps }: Store,
  provider: Provider,
  who: OidcUser,
  id: string,
): Promise<Statement[]> {
  const { name: by, of } = provider
  const { email, isVerified } = addressOf(who, provider.rules)
  if (email === undefined) {
    const claims = Object.keys(who.claims).slice(0, 20).map((name) => plainName(name, 40)).join(', ')
    throw new SsoRefusal(
      'no_address',
      `${by} did not send your email address, so no user can be created. Its administrators can add the claim email ` +
        `(it sent ${claims}).`,
    )
  }
  if (await global.users.byEmail(email)) {
    throw new SsoRefusal(
      'address_taken',
      'A user with your email address already exists. Sign in as that user in another way, and link ' +
        (of ? `${by} to it once the user is a member of the account.` : `${by} to it.`),
    )
  }
  const at = deps.now()
  return [
    global.users.add({
      ...{ id, email, name: nameOf(who.claims), passwordHash: null },
      ...{ verifiedAt: isVerified ? at : null, registeredByShownLink: !isVerified },
    }, at),
    ...feature(allSso).addIdentity(id, who, email, at),
  ]
}

interface Entrance {
  provider: Provider
  of: SsoProvider
  who: OidcUser
  /** The identity's user. Undefined if it is new. */
  known: string | undefined
  requestId: string | null
}

/** Makes the user a member of the account, or updates the member's role from the claim. Resolves to the user's id. */
async function enter(store: Store, entrance: Entrance): Promise<string> {
  const { provider, of, who, known, requestId } = entrance
  const system = store.account(of.account, { type: 'system', job: 'sso' })
  const said = addressOf(who, provider.rules)
  const claimed = roleOf(of, who)
  const member = known === undefined ? undefined : await system.read.team.member(known)
  const userId = known ?? newId()
  const role = member?.role ?? claimed ?? 'member'
  const statements = member ? [] : await joining().catch(async (error) => {
    if (error instanceof SsoRefusal) {
      await system.write(signInOf(system, { of, who, said, outcome: error.reason, userId: error.userId }))
    }
    throw error
  })
  const account = store.account(of.account, { type: 'user', userId, role, sessionId: '' })
  const call = { tool: 'sign_in_by_provider', arguments: { role }, requestId }
  const signedIn = signInOf(system, { of, who, said, outcome: 'ok', userId })
  await recordActivity(account, call, (account) => account.write([...statements, ...signedIn]))
  if (member) await followClaim(system, member, claimed, requestId)
  return userId

  async function joining(): Promise<Statement[]> {
    const user = { id: userId, role, isByClaim: claimed != null }
    const proof = await proveMember(system, userId, { provider: of, said, identity: who })
    const joined = await join(system, user, { by: 'provider', proof })
    return [...(known === undefined ? await newUser(store, provider, who, userId) : []), ...joined]
  }
}

/**
 * Gives the member the claimed role. Null resets a role set by an earlier claim to member, and keeps a role set by a
 * person. Owners stay owners.
 */
async function followClaim(
  system: AccountStore,
  { userId, role, roleByClaim }: AccountMember,
  claimed: Role | null | undefined,
  requestId: string | null,
): Promise<void> {
  const next = claimed === null && roleByClaim ? 'member' : claimed
  if (next == null || next === role || role === 'owner') return
  const change = { userId, role: next }
  await recordActivity(
    system,
    { tool: 'set_member_role', arguments: change, requestId },
    (account) => setMemberRole(account, { ...change, isByClaim: claimed !== null }),
  )
}

/**
 * Links the identity to the user. To link an account's provider, the user must be a member and meet the requirements
 * for joining. Fails with `not_allowed`.
 */
export async function link(
  store: Store,
  provider: Provider,
  { user, sessionId }: SignedInUser,
  who: OidcUser,
): Promise<void> {
  const sso = store.feature(allSso)
  const known = await sso.userOf(who.issuer, who.subject)
  if (known !== undefined && known !== user.id) {
    throw new GridError('not_allowed', 'That identity belongs to another user here.')
  }
  const said = addressOf(who, provider.rules)
  const statements = [
    ...await requireMember(store, provider, user.id),
    ...await proofOfLink(store, provider, { user: user.id, who, said }),
    ...sso.addIdentity(user.id, who, said.email ?? null, store.deps.now()),
  ]
  await changeUser(store, user, 'link_provider', statements, { type: 'user', userId: user.id, sessionId })
}

export async function requireMember(store: Store, { of, name }: Provider, userId: string): Promise<Statement[]> {
  if (!of) return []
  const { read, change } = store.account(of.account, { type: 'system', job: 'sso' })
  if (await read.team.member(userId)) return [change.team.requireRole(userId, roles)]
  throw new GridError(
    'not_allowed',
    `Only members of the account can link ${name}. Ask its owners or admins to invite you.`,
  )
}

/** Returns statements that check the user and record the identity, so that a removed member cannot return with it. */
async function proofOfLink(
  store: Store,
  { of }: Provider,
  { user, who, said }: { user: string; who: OidcUser; said: SaidAddress },
): Promise<Statement[]> {
  if (!of) return []
  const account = store.account(of.account, { type: 'system', job: 'sso' })
  return [
    ...await proveMember(account, user, { provider: of, said, identity: who }),
    ...signInOf(account, { of, who, said, outcome: 'ok', userId: user }),
  ]
}

function signInOf(
  { feature, deps }: AccountStore,
  { of, who, said, outcome, userId }: Pick<NewSignIn, 'outcome' | 'userId'> & {
    of: SsoProvider
    who: OidcUser
    said: SaidAddress
  },
): Statement[] {
  const { issuer, subject } = who
  return feature(ssoTables).change.addSignIn({
    issuer,
    subject,
    userId,
    at: deps.now(),
    outcome,
    report: reportOf(who, said, of),
  })
}

function nameOf({ name }: Record<string, unknown>): string {
  try {
    return checkName(textOf(name ?? '').slice(0, 80), 'name')
  } catch {
    return ''
  }
}
