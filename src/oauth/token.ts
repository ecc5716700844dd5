/** `POST /oauth/token`: codes and refresh tokens, to pairs of tokens. OAuth 2.1 §4.1.3 and §4.3, RFC 7636, RFC 8707. */
import { hashForLookup, isSameSecret, keyKind, mintKey } from '../auth/secrets.ts'
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { newId } from '../lib/id.ts'
import { day, hour, second } from '../lib/time.ts'
import type { OAuthScope } from '../store/global/oauth-grants.ts'
import type { NewToken } from '../store/global/oauth-tokens.ts'
import type { Store } from '../store/store.ts'
import { readScopes } from './authorize-request.ts'
import { authenticateClient, type Client, type Clients, usedClientMs } from './clients.ts'
import { parameter, readForm } from './form.ts'
import { challengeOf } from './pkce.ts'

const adminTokenMs = hour
/** After its last use. */
const refreshTokenMs = 30 * day

export interface TokenParts {
  store: Store
  clients: Clients
  resourceOf(asked: string | undefined): string
}

/** The successful answer. `expires_in` is in seconds. @see RFC 6749 §5.1 */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: OAuthScope
}

/** A pair for a code or a refresh token. Fails with the codes of RFC 6749 §5.2. */
export async function tokenEndpoint(parts: TokenParts, request: Request): Promise<TokenResponse> {
  const form = await readForm(request)
  const client = await authenticateClient(parts.clients, request, form)
  switch (parameter(form, 'grant_type')) {
    case 'authorization_code':
      return await exchangeCode(parts, client, form)
    case 'refresh_token':
      return await refresh(parts, client, form)
    case undefined:
      throw new GridError('invalid_request', 'grant_type is missing.')
    default:
      throw new GridError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
  }
}

/**
 * Exchange an authorization code for tokens. What is wrong with the exchange leaves the code as it is; its own
 * client using it twice ends everything it gave.
 * Fails with `invalid_grant`, `invalid_request` or `invalid_target`.
 *
 * @see RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 8707 §2.2. Spec: "Authentication" 4.
 */
async function exchangeCode({ store, resourceOf }: TokenParts, client: Client, form: URLSearchParams) {
  const { global, write, deps } = store
  const codeHash = hashForLookup(required(form, 'code'))
  const redirectUri = required(form, 'redirect_uri')
  const codeChallenge = await challengeOf(required(form, 'code_verifier'))

  const grant = await global.oauth.grants.byCode(codeHash)
  if (!grant || grant.clientId !== client.id) throw invalid('This code is unknown or has expired.')
  if (grant.codeUsedAt !== null) throw await codeReused(store, grant)
  if (grant.codeExpiresAt <= deps.now()) throw invalid('This code is unknown or has expired.')
  if (grant.redirectUri !== redirectUri) throw invalid('redirect_uri is not the one the code was sent to.')
  if (codeChallenge === undefined || !isSameSecret(codeChallenge, grant.codeChallenge)) {
    throw invalid('code_verifier does not belong to the code_challenge.')
  }
  refuseOtherResource(form, grant.resource, resourceOf)

  const at = deps.now()
  const { accountId } = grant
  const pair = await mintPair(deps.config, grant.scope, { at, last: grant.expiresAt })
  const brought = { accountId, hash: codeHash, refreshId: pair.refresh.id }
  const [collected] = await write([
    global.oauth.grants.collect({ ...brought, codeHash, clientId: client.id, redirectUri, codeChallenge }, at),
    ...[pair.access, pair.refresh].map((token) => global.oauth.tokens.addForCode(brought, token, at)),
    global.oauth.clients.used(client.id, at + usedClientMs, at),
  ])
  if (collected.length > 0) return pair.response
  // Somebody was faster with the same code, or what it stood for has ended.
  const now = await global.oauth.grants.byCode(codeHash)
  if (now?.codeUsedAt) throw await codeReused(store, now)
  throw invalid('This code is no longer good: what it stood for has ended.')
}

/**
 * Exchange a refresh token for a new pair of its family. Its role is read again. Used once more within
 * `OAUTH_REFRESH_GRACE`, and while nothing made for it was used, it gives another pair: an answer got lost, or two
 * processes share it. Afterwards it was stolen or replayed, and all of the family ends.
 * Fails with `invalid_grant`, `invalid_scope` or `invalid_request`.
 *
 * @see OAuth 2.1 §4.3, RFC 9700 §4.14.2.
 */
async function refresh({ store }: TokenParts, client: Client, form: URLSearchParams) {
  const { global, write, deps } = store
  const text = required(form, 'refresh_token')
  if (keyKind(text) !== 'refresh_token') throw invalid('This refresh token is unknown.')
  const hash = hashForLookup(text)
  const token = await global.oauth.tokens.byHash(hash)
  if (token?.kind !== 'refresh' || token.clientId !== client.id) throw invalid('This refresh token is unknown.')
  const at = deps.now()
  if (token.revokedAt !== null || token.expiresAt <= at) throw invalid('This refresh token has ended. Sign in again.')
  if (!readScopes(parameter(form, 'scope')).includes(token.scope)) {
    throw new GridError('invalid_scope', `This refresh token is for ${token.scope} alone.`)
  }

  const pair = await mintPair(deps.config, token.scope, { at, last: token.grantExpiresAt })
  const brought = { accountId: token.accountId, hash, refreshId: pair.refresh.id }
  const graceSince = at - deps.config.oauthRefreshGraceSeconds * second
  const [rotated] = await write([
    global.oauth.tokens.rotate(brought, graceSince, at),
    ...[pair.access, pair.refresh].map((token) => global.oauth.tokens.addForRefresh(brought, token, at)),
    global.oauth.clients.used(client.id, at + usedClientMs, at),
  ])
  if (rotated.length > 0) return pair.response

  const now = await global.oauth.tokens.byHash(hash)
  if (!now?.usedAt || now.revokedAt !== null) {
    throw invalid('This refresh token is no longer good: what it stood for has ended.')
  }
  // A write of its own, so that it outlives the refusal.
  await write([global.oauth.grants.revoke(now.accountId, now.grantId, at)])
  throw invalid('This refresh token was already used. Sign in again.')
}

/** A code seen twice was stolen or replayed. We cannot know which caller is the thief. @see RFC 6749 §10.5 */
async function codeReused({ global, write, deps }: Store, grant: { accountId: string; id: string }) {
  await write([global.oauth.grants.revoke(grant.accountId, grant.id, deps.now())])
  return invalid('This code was already used.')
}

/** Sent, it must be the resource of the grant; all our URLs are one audience, but a client that changes its mind errs. */
function refuseOtherResource(form: URLSearchParams, granted: string, resourceOf: TokenParts['resourceOf']): void {
  for (const asked of form.getAll('resource').filter(Boolean)) {
    if (resourceOf(asked) !== granted) {
      throw new GridError('invalid_target', 'resource is not the one that was granted.')
    }
  }
}

/** Two new tokens; neither outlives its grant. */
async function mintPair(config: Config, scope: OAuthScope, { at, last }: { at: number; last: number }) {
  const accessMs = scope === 'admin' ? adminTokenMs : config.oauthAgentTtlSeconds * second
  const [access, refresh] = await Promise.all([mintKey('access_token'), mintKey('refresh_token')])
  const row = (kind: NewToken['kind'], hash: string, ms: number): NewToken => ({
    id: newId(),
    kind,
    hash,
    expiresAt: Math.min(at + ms, last),
  })
  const stored = row('access', access.hash, accessMs)
  const response: TokenResponse = {
    access_token: access.key,
    token_type: 'Bearer',
    expires_in: Math.floor((stored.expiresAt - at) / second),
    refresh_token: refresh.key,
    scope,
  }
  return { access: stored, refresh: row('refresh', refresh.hash, refreshTokenMs), response }
}

function required(form: URLSearchParams, name: string): string {
  const value = parameter(form, name)
  if (value === undefined) throw new GridError('invalid_request', `${name} is missing.`)
  return value
}

function invalid(message: string): GridError {
  return new GridError('invalid_grant', message)
}
