/**
 * Single sign-on: signing in with a provider, and linking its identity to a user. See docs/people.md, "Single sign-on".
 */
import { callingUser, requireConfirmed, requireWholeSession, type SignedInUser } from '../../auth/actor.ts'
import { authorizationUrl, type OidcFlow, redeemCode } from './oidc.ts'
import { GridError } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { normaliseEmail } from '../../lib/names.ts'
import { hashForLookup, mintLinkToken } from '../../lib/secrets.ts'
import { minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Identity } from '../../store/global/identities.ts'
import type { Store } from '../../store/store.ts'
import { authorize } from '../../grid/authorize.ts'
import { changeUser } from '../../grid/people/operator.ts'
import { addressOf, domainOf, reportOf } from './claims.ts'
import { proveMember, SsoRefusal } from './joining.ts'
import { allSso, type SignInReport, type SsoProvider, ssoTables } from './store.ts'
import { link, type Provider, requireMember, signIn } from './users.ts'
import { takePasskeyAttempt } from '../../grid/people/throttle.ts'

/** Maximum duration of a sign-in at the provider. */
export const ssoFlowMs = 10 * minute
/** The id of the grid's own provider, which is configured in the settings. */
export const gridProviderId = 'grid'

/** Data that a cookie stores while the user is at the provider. */
interface Flow extends OidcFlow {
  provider: string
  next: string
  /** The user who links an identity or tests the provider. Undefined for a sign-in. */
  user?: string
  isTrial: boolean
}

/** The name of the grid's own provider. Undefined if the grid has none. */
export function gridProviderName({ deps: { config } }: Store): string | undefined {
  return config.oidcIssuer === undefined ? undefined : config.oidcName
}

/** The provider of the account that has verified an email address's domain. */
export async function providerOfEmail({ feature }: Store, email: string): Promise<{ id: string; name: string }> {
  const found = await feature(allSso).ofDomain(domainOf(normaliseEmail(email, 'email')))
  if (found) return found
  throw new GridError('invalid_input', 'No account here has a provider for this domain.', { field: 'email' })
}

/** An account's provider, if people can sign in with it. */
export async function providerOfAccount(store: Store, id: string): Promise<{ id: string; name: string } | undefined> {
  const found = await store.account(id, { type: 'system', job: 'sso' }).feature(ssoTables).read.get()
  return found?.verifiedAt == null || found.draft !== '' ? undefined : found
}

/** Data for the page that leads to the provider. `url` is the provider's URL. `kept` is stored in the browser. */
export interface BegunSso {
  url: string
  kept: string
  name: string
  /** The name of the provider's account. */
  accountName: string | undefined
}

/**
 * Starts a sign-in. With `link`, it adds an identity to that user, who must have confirmed their identity. With
 * `trial`, an owner tests the account's provider, which may be a draft, and nothing is stored. Fails with `not_found`,
 * `remote_unreachable`, `confirmation_required` or `not_allowed`.
 */
export async function beginSso(
  store: Store,
  id: string,
  { next, address, isFresh = false, link, trial }: {
    next: string
    address: string
    isFresh?: boolean
    link?: SignedInUser
    trial?: AccountStore
  },
): Promise<BegunSso> {
  const { global, deps } = store
  if (link) requireConfirmed(link, deps.now())
  if (trial) await authorize(trial, 'own')
  await takePasskeyAttempt(store, address)
  const provider = await findProvider(store, id, trial)
  if (link) await requireMember(store, provider, link.user.id)
  const [state, nonce, verifier] = [mintLinkToken(), mintLinkToken(), mintLinkToken()].map(({ token }) => token)
  const user = link?.user.id ?? (trial && callingUser(trial.actor).userId)
  const kind = { isFresh, user, isTrial: trial !== undefined }
  const flow: Flow = { provider: id, state, nonce, verifier, next: next.slice(0, 1_500), ...kind }
  const url = await authorizationUrl(provider, flow)
  const kept = await keep(store, state, flow)
  const account = provider.of && await global.accounts.byId(provider.of.account)
  return { url, kept, name: provider.name, accountName: account?.name }
}

/** The outcome of a sign-in at the provider. */
export type FinishedSso =
  | { did: 'link'; next: string }
  | { did: 'try'; next: string; report: SignInReport; refusal: string | undefined }
  | ({ did: 'sign_in' } & SignedIn)

/** The user who signed in, and the properties of their session. */
interface SignedIn {
  next: string
  userId: string
  proof: {
    hasSecondFactor: boolean
    confirmedAt: number | null
    onlyAccount: string | null
    identity: Identity
  }
}

/**
 * Completes a sign-in. `kept` is the text from `beginSso`, and `search` is the query of the provider's redirect. Works
 * once. Fails with `link_expired`, `sign_in_failed`, `remote_unreachable` or `not_allowed`.
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
  const state = new URLSearchParams(search).get('state') ?? ''
  const flow = await take<Flow>(store, state, kept)
  if (flow.provider !== id) throw ended()
  const { next } = flow
  if (flow.user !== undefined && visitor?.user.id !== flow.user) throw ended()
  if (flow.isTrial) return await tryOut(store, id, flow, search)
  const provider = await findProvider(store, id)
  const who = await redeemCode(provider, flow, search)
  if (flow.user !== undefined) {
    requireWholeSession(visitor!)
    await link(store, provider, visitor!, who)
    return { did: 'link', next }
  }
  const account = provider.of?.account ?? null
  const userId = await signIn(store, provider, who, requestId)
  const { issuer, subject } = who
  // A time in the future is reduced to now, because the provider's clock may be ahead.
  const confirmedAt = who.provedAt === null ? null : Math.min(who.provedAt, store.deps.now())
  const proof = { hasSecondFactor: account !== null, confirmedAt, onlyAccount: account, identity: { issuer, subject } }
  return { did: 'sign_in', next, userId, proof }
}

/** Returns the provider's claims about an owner, and why a user with these claims could not join. Stores nothing. */
async function tryOut(store: Store, id: string, flow: Flow, search: string): Promise<FinishedSso> {
  const of = await store.feature(allSso).anyProvider(id)
  if (!of) throw ended()
  const account = store.account(of.account, { type: 'system', job: 'sso' })
  const provider = await providerOf(store, of)
  const who = await redeemCode(provider, flow, search)
  const said = addressOf(who, provider.rules)
  const refusal = await proveMember(account, flow.user!, { provider: of, said, identity: who })
    .then(() => undefined, (error: unknown) => {
      if (error instanceof SsoRefusal) return error.message
      throw error
    })
  return { did: 'try', next: flow.next, report: reportOf(who, said, of), refusal }
}

/**
 * Stores a sign-in with the provider `id` until its user confirms it with a click. Resolves to a token for the form,
 * and the text to store in the browser.
 */
export async function keepSignIn(
  store: Store,
  id: string,
  { next, userId, proof }: SignedIn,
): Promise<{ token: string; kept: string }> {
  const { token } = mintLinkToken()
  return { token, kept: await keep(store, token, { provider: id, held: { next, userId, proof } }) }
}

/**
 * Returns the sign-in that `keepSignIn` stored. Works once, while people can sign in with the provider. Fails with
 * `link_expired` or `not_found`.
 */
export async function takeSignIn(
  store: Store,
  id: string,
  token: string,
  kept: string | undefined,
): Promise<SignedIn> {
  const { provider, held } = await take<{ provider?: string; held?: SignedIn }>(store, token, kept)
  if (!held || provider !== id) throw ended()
  await findProvider(store, id)
  return held
}

/** Removes an identity of the user, who must have confirmed their identity. Ends the other sessions that it started. */
export async function unlinkIdentity(
  store: Store,
  actor: SignedInUser,
  identity: { issuer: string; subject: string },
): Promise<void> {
  requireConfirmed(actor, store.deps.now())
  const { user, sessionId } = actor
  const statements = store.feature(allSso).removeIdentity(user.id, identity, sessionId, store.deps.now())
  await changeUser(store, user, 'unlink_provider', statements, { type: 'user', userId: user.id, sessionId })
}

/** Stores a challenge. Returns the text that this browser must send with `token`. Works once, before it expires. */
async function keep({ global, write, deps }: Store, token: string, what: object): Promise<string> {
  const kept = JSON.stringify(what)
  const [hash, holder] = [hashForLookup(token), hashForLookup(kept)]
  await write([
    global.challenges.add({ hash, purpose: 'sso', holder, expiresAt: deps.now() + ssoFlowMs }),
  ])
  return kept
}

/** Consumes a token and returns what this browser stored for it. Fails with `link_expired`. */
async function take<Kept>({ global, write, deps }: Store, token: string, kept: string | undefined): Promise<Kept> {
  if (kept === undefined) throw ended()
  const [hash, holder] = [hashForLookup(token), hashForLookup(kept)]
  const [taken] = await write([global.challenges.take(hash, 'sso', holder, newId(), deps.now())])
  if (taken.length === 0) throw ended()
  // The challenge contains the text's hash, so the text is unchanged.
  return JSON.parse(kept)
}

function ended(): GridError {
  return new GridError(
    'link_expired',
    'This sign-in was used already, has expired, or began in another browser. Begin it again.',
  )
}

/** Finds the provider. Fails with `not_found`, also for drafts and unverified domains unless their owner tests them. */
async function findProvider(store: Store, id: string, owner?: AccountStore): Promise<Provider> {
  const { feature, deps } = store
  const { config, operatorStream, log, now } = deps
  if (id === gridProviderId && config.oidcIssuer !== undefined) {
    const { oidcName: name, oidcIssuer: issuer, oidcTrustedDomains: trustedDomains, oidcEmailClaim: emailClaim } =
      config
    const rules = { issuer, emailClaim, trustedDomains }
    return {
      ...{ id, name, issuer, clientId: config.oidcClientId!, clientSecret: config.oidcClientSecret!, rules },
      ...{ scopes: config.oidcScopes, wanted: [...wanted, emailClaim].filter(Boolean) },
      ...{ redirectUri: redirectUriOf(store, id), send: operatorStream, log, now, of: undefined },
    }
  }
  const of = owner ? await owner.feature(ssoTables).read.get() : await feature(allSso).provider(id)
  if (of?.id === id) return await providerOf(store, of)
  throw new GridError('not_found', 'There is no such single sign-on, or its domain is not verified any more.')
}

async function providerOf(store: Store, of: SsoProvider): Promise<Provider> {
  const { id, name, issuer, clientId, scopes, emailClaim, roleClaim, isTrusted, domain } = of
  const { safeStream: send, log, now } = store.deps
  const clientSecret = await store.account(of.account, { type: 'system', job: 'sso' }).open('sso_providers', id, of)
  return {
    ...{ id, name, issuer, clientId, clientSecret, scopes, wanted: [...wanted, emailClaim, roleClaim].filter(Boolean) },
    ...{ rules: { issuer, emailClaim, trustedDomains: isTrusted ? [domain] : [] } },
    redirectUri: redirectUriOf(store, id),
    ...{ send, log, now, of },
  }
}

function redirectUriOf({ deps: { config } }: Store, id: string): string {
  return `${config.appUrl}/sso/${id}/callback`
}

/** The claims wanted in each sign-in. */
const wanted = ['email', 'email_verified', 'name']
