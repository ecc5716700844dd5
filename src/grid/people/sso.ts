/** Single sign-on: signing in with a provider, and linking a user to one. See docs/security.md, "Single sign-on". */
import { requireConfirmed, requireWholeSession, type SignedInUser } from '../../auth/actor.ts'
import { authorizationUrl, type OidcFlow, type OidcProvider, type OidcUser, redeemCode } from '../../auth/oidc.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import { minute } from '../../lib/time.ts'
import type { SsoProvider } from '../../store/global/sso.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../accounts/accounts.ts'
import { recordActivity } from '../activity.ts'
import { changeUser } from './operator.ts'
import { setMemberRole } from './team.ts'
import { takePasskeyAttempt } from './throttle.ts'

/** How long a sign-in may take at the provider. */
export const ssoFlowMs = 10 * minute
/** The id of the provider of the settings. */
export const gridProviderId = 'grid'

interface Provider extends OidcProvider {
  id: string
  name: string
  /** The account that it belongs to; undefined for that of the grid. */
  of: SsoProvider | undefined
}

/** What waits in a cookie while the user is at the provider. */
interface Flow extends OidcFlow {
  provider: string
  next: string
  /** The user who links the identity; undefined for a sign-in. */
  user?: string
}

/** The name of the provider of the grid; undefined if it has none. */
export function gridProviderName({ deps: { config } }: Store): string | undefined {
  return config.oidcIssuer === undefined ? undefined : config.oidcName
}

/** The provider of the account that has verified the domain of an email address. */
export async function providerOfEmail({ global }: Store, email: string): Promise<{ id: string; name: string }> {
  const found = await global.sso.ofDomain(domainOf(normaliseEmail(email, 'email')))
  if (found) return found
  throw new GridError('invalid_input', 'No account here signs people of this domain in.', { field: 'email' })
}

/** The provider of an account, if it signs people in. */
export async function providerOfAccount(store: Store, id: string): Promise<{ id: string; name: string } | undefined> {
  const found = await store.account(id, { type: 'system', job: 'sso' }).read.sso.get()
  return found?.verifiedAt == null ? undefined : found
}

/**
 * Begin a sign-in, or with `link` add an identity to the user, who must have confirmed who they are. Resolves to where the
 * browser goes, and to the text that it must come back with. Fails with `not_found`, `remote_unreachable`,
 * `confirmation_required` or `not_allowed`.
 */
export async function beginSso(
  store: Store,
  id: string,
  { next, address, isFresh = false, link }: { next: string; address: string; isFresh?: boolean; link?: SignedInUser },
): Promise<{ url: string; kept: string; name: string }> {
  const { global, deps } = store
  if (link) requireConfirmed(link, deps.now())
  await takePasskeyAttempt(store, address)
  const provider = await findProvider(store, id)
  const [state, nonce, verifier] = [mintLinkToken(), mintLinkToken(), mintLinkToken()].map(({ token }) => token)
  const flow: Flow = { provider: id, state, nonce, verifier, next: next.slice(0, 1_500), isFresh, user: link?.user.id }
  const kept = JSON.stringify(flow)
  const url = await authorizationUrl(provider, flow)
  const holder = hashForLookup(kept)
  const expiresAt = deps.now() + ssoFlowMs
  await store.write([
    global.secondFactors.addChallenge({ hash: hashForLookup(state), purpose: 'sso', holder, expiresAt }),
  ])
  return { url, kept, name: provider.name }
}

/** How the session begins after a sign-in. Without `userId` the user, who is signed in already, was linked. */
interface FinishedSso {
  next: string
  userId?: string
  proof: { hasSecondFactor: boolean; confirmedAt: number | null; onlyAccount: string | null }
}

/**
 * Finish what `beginSso` began: `kept` is its text, and `search` the query with which the provider sends the browser back.
 * It works once. Fails with `link_expired`, `sign_in_failed`, `remote_unreachable` or `not_allowed`.
 */
export async function finishSso(
  store: Store,
  id: string,
  { search, kept, visitor, requestId }: {
    search: string
    kept: string | undefined
    visitor: SignedInUser | undefined
    requestId: string | null
  },
): Promise<FinishedSso> {
  const flow = await takeFlow(store, id, search, kept)
  const provider = await findProvider(store, id)
  const who = await redeemCode(provider, flow, search)
  const account = provider.of?.account ?? null
  // The clock of the provider may be ahead.
  const confirmedAt = who.provedAt === null ? null : Math.min(who.provedAt, store.deps.now())
  const proof = { hasSecondFactor: account !== null, confirmedAt, onlyAccount: account }
  if (flow.user === undefined) {
    const userId = await signIn(store, provider, who, requestId)
    return { next: flow.next, userId, proof }
  }
  if (!visitor || visitor.user.id !== flow.user) throw ended()
  requireWholeSession(visitor)
  await link(store, visitor, who)
  return { next: flow.next, proof }
}

/** Remove an identity of the user, who must have confirmed who they are. */
export async function unlinkIdentity(
  store: Store,
  actor: SignedInUser,
  identity: { issuer: string; subject: string },
): Promise<void> {
  requireConfirmed(actor, store.deps.now())
  const { user, sessionId } = actor
  const statements = [store.global.sso.removeIdentity(user.id, identity)]
  await changeUser(store, user, 'unlink_provider', statements, { type: 'user', userId: user.id, sessionId })
}

/** The sign-in of this browser, which is used up. Fails with `link_expired`. */
async function takeFlow(
  { global, write, deps }: Store,
  id: string,
  search: string,
  kept: string | undefined,
): Promise<Flow> {
  const state = new URLSearchParams(search).get('state') ?? ''
  if (kept === undefined) throw ended()
  const [hash, holder] = [hashForLookup(state), hashForLookup(kept)]
  const [taken] = await write([global.secondFactors.takeChallenge(hash, 'sso', holder, newId(), deps.now())])
  if (taken.length === 0) throw ended()
  // The challenge vouches for every letter of it.
  const flow = JSON.parse(kept) as Flow
  if (flow.provider !== id) throw ended()
  return flow
}

function ended(): GridError {
  return new GridError(
    'link_expired',
    'This sign-in was used already, has expired, or began in another browser. Begin it again.',
  )
}

/** Fails with `not_found`, also while the domain of an account is not verified. */
async function findProvider({ global, deps, account }: Store, id: string): Promise<Provider> {
  const { config, safeStream, operatorStream, log } = deps
  const redirectUri = `${config.appUrl}/sso/${id}/callback`
  if (id === gridProviderId && config.oidcIssuer !== undefined) {
    return {
      ...{ id, name: config.oidcName, issuer: config.oidcIssuer, clientId: config.oidcClientId! },
      ...{ clientSecret: config.oidcClientSecret!, redirectUri, send: operatorStream, log, of: undefined },
    }
  }
  const of = await global.sso.provider(id)
  if (!of) throw new GridError('not_found', 'There is no such single sign-on, or its domain is not verified any more.')
  const clientSecret = await account(of.account, { type: 'system', job: 'sso' }).open('sso_providers', id, of)
  return {
    id,
    name: of.name,
    issuer: of.issuer,
    clientId: of.clientId,
    clientSecret,
    redirectUri,
    send: safeStream,
    log,
    of,
  }
}

/** The user of the identity, or a new one. Never the user of the same email address. Fails with `not_allowed`. */
async function signIn(
  store: Store,
  provider: Provider,
  who: OidcUser,
  requestId: string | null,
): Promise<string> {
  const known = await store.global.sso.userOf(who.issuer, who.subject)
  const userId = known ?? newId()
  const first = known === undefined ? await newUser(store, provider, who, userId) : []
  if (provider.of) await enter(store, provider.of, who, { userId, first, requestId })
  else if (first.length > 0) await store.write(first)
  return userId
}

/** Statements that add the user. An address that the provider has not verified may be that of someone else. */
async function newUser(
  { global, deps }: Store,
  { name: by, of }: Provider,
  { issuer, subject, claims }: OidcUser,
  id: string,
): Promise<Statement[]> {
  if (typeof claims.email !== 'string') {
    throw new GridError('not_allowed', `${by} does not tell your email address, so no user can be made.`)
  }
  const email = normaliseEmail(claims.email, 'email')
  if (of && domainOf(email) !== of.domain) {
    throw new GridError('not_allowed', `${by} makes users only for addresses of ${of.domain}.`)
  }
  if (await global.users.byEmail(email)) {
    throw new GridError(
      'not_allowed',
      `There is a user with your email address already. Sign in as that user in another way, and link ${by} to it.`,
    )
  }
  const at = deps.now()
  const isVerified = claims.email_verified === true
  return [
    global.users.add({
      ...{ id, email, name: nameOf(claims), passwordHash: null },
      ...{ verifiedAt: isVerified ? at : null, registeredByShownLink: !isVerified },
    }, at),
    ...global.sso.addIdentity(id, { issuer, subject }, at),
  ]
}

/** Make the user a member of the account, or give the member the role that the claim says. Owners stay owners. */
async function enter(
  store: Store,
  of: SsoProvider,
  { claims }: OidcUser,
  { userId, first, requestId }: { userId: string; first: Statement[]; requestId: string | null },
): Promise<void> {
  const system = store.account(of.account, { type: 'system', job: 'sso' })
  const said = roleOf(of, claims)
  const member = await system.read.team.member(userId)
  const role = member?.role ?? said ?? 'member'
  const account = store.account(of.account, { type: 'user', userId, role, sessionId: '' })
  const call = { tool: 'sign_in_by_provider', arguments: { role }, requestId }
  await recordActivity(account, call, async (account) => {
    if (!member) await account.write([...first, account.change.team.addMember(userId, role, store.deps.now())])
  })
  if (!member || !said || said === member.role || member.role === 'owner') return
  const change = { userId, role: said }
  await recordActivity(
    system,
    { tool: 'set_member_role', arguments: change, requestId },
    (account) => setMemberRole(account, change),
  )
}

const strongestFirst = ['admin', 'member', 'viewer'] as const

/** The role that the claim says; undefined if no claim decides. */
function roleOf({ roleClaim, roles }: SsoProvider, claims: Record<string, unknown>) {
  if (roleClaim === '') return undefined
  const said = [claims[roleClaim]].flat().map((value) => roles[String(value)])
  return strongestFirst.find((role) => said.includes(role)) ?? 'member'
}

async function link(store: Store, { user, sessionId }: SignedInUser, { issuer, subject }: OidcUser): Promise<void> {
  const { sso } = store.global
  const known = await sso.userOf(issuer, subject)
  if (known !== undefined && known !== user.id) {
    throw new GridError('not_allowed', 'You have signed in there as somebody who is another user here.')
  }
  const statements = sso.addIdentity(user.id, { issuer, subject }, store.deps.now())
  await changeUser(store, user, 'link_provider', statements, { type: 'user', userId: user.id, sessionId })
}

function nameOf({ name }: Record<string, unknown>): string {
  try {
    return checkName(String(name ?? '').slice(0, 80), 'name')
  } catch {
    return ''
  }
}

function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1)
}
