/**
 * `POST /oauth/token` exchanges authorization codes and refresh tokens for token pairs. `POST /oauth/revoke` revokes
 * tokens.
 * @see OAuth 2.1 §4.1.3 and §4.3, RFC 7009, RFC 7636, RFC 8707
 */
import type { Config } from '../config.ts'
import { GridError, limitReached } from '../errors.ts'
import { revokeGrantByClient } from '../grid/oauth/grants.ts'
import { newId } from '../lib/id.ts'
import { codeChallengeOf, hashForLookup, isSameSecret, keyKind, mintKey } from '../lib/secrets.ts'
import { day, hour, minute, second } from '../lib/time.ts'
import { readScopes } from './authorize-request.ts'
import { authenticateClient, type Client, type OAuthParts, usedClientMs } from './clients.ts'
import { parameter, readOAuthForm } from './form.ts'
import type { AppContext } from '../request-context.ts'
import type { OAuthScope } from '../store/global/oauth-grants.ts'
import type { NewOAuthToken } from '../store/global/oauth-tokens.ts'
import type { Store } from '../store/store.ts'

const adminTokenMs = hour
/** The lifetime of a refresh token. Each refresh yields a new one. */
const refreshTokenMs = 30 * day
/** How long a used refresh token can be reused. */
const refreshGraceMs = 2 * minute
/** How many more token pairs a used refresh token yields within `refreshGraceMs`, and their minimum interval. */
const maxRepeats = 5
const repeatMs = second

/** The success response. `expires_in` is in seconds. @see RFC 6749 §5.1 */
interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: OAuthScope
}

/** Handles token requests. Fails with the error codes of RFC 6749 §5.2. */
export function tokenEndpoint(parts: OAuthParts) {
  return async (c: AppContext): Promise<Response> => Response.json(await tokensFor(parts, c.req.raw))
}

async function tokensFor(parts: OAuthParts, request: Request): Promise<TokenResponse> {
  const form = await readOAuthForm(parts.store.deps.bodies, request)
  const presented = presentedToken(parts.store, form)
  // Avoid an unhandled rejection if the client is refused.
  presented?.catch(() => {})
  const client = await authenticateClient(parts.clients, request, form)
  switch (parameter(form, 'grant_type')) {
    case 'authorization_code':
      return await exchangeCode(parts, client, form)
    case 'refresh_token':
      return await refresh(parts, client, form, presented)
    case undefined:
      throw new GridError('invalid_request', 'grant_type is missing.')
    default:
      throw new GridError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
  }
}

/**
 * Exchanges an authorization code for tokens. A rejected exchange does not consume the code. If the client uses the
 * code twice, the grant and all its tokens are revoked. See docs/protocol/oauth.md, "Tokens". Fails with
 * `invalid_grant`, `invalid_request` or `invalid_target`.
 *
 * @see RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 8707 §2.2
 */
async function exchangeCode({ store, resourceOf }: OAuthParts, client: Client, form: URLSearchParams) {
  const { global, write, deps } = store
  const codeHash = hashForLookup(required(form, 'code'))
  const redirectUri = required(form, 'redirect_uri')
  const codeChallenge = codeChallengeOf(required(form, 'code_verifier'))

  const grant = await global.oauth.grants.byCode(codeHash)
  if (!grant || grant.clientId !== client.id) throw invalidGrant('This code is unknown or has expired.')
  if (grant.codeUsedAt !== null) throw await revokeReusedCode(store, grant)
  if (grant.codeExpiresAt <= deps.now()) throw invalidGrant('This code is unknown or has expired.')
  if (grant.redirectUri !== redirectUri) {
    throw invalidGrant('redirect_uri differs from the one that the code was sent to.')
  }
  if (codeChallenge === undefined || !isSameSecret(codeChallenge, grant.codeChallenge)) {
    throw invalidGrant('code_verifier does not match the code_challenge.')
  }
  requireSameResource(form, grant.resource, resourceOf)

  const at = deps.now()
  const { accountId } = grant
  const pair = mintPair(deps.config, grant.scope, { at, grantExpiresAt: grant.expiresAt })
  const exchange = { accountId, hash: codeHash, refreshId: pair.refresh.id }
  const [redeemed] = await write([
    global.oauth.grants.exchangeCode({ ...exchange, codeHash, clientId: client.id, redirectUri, codeChallenge }, at),
    ...[pair.access, pair.refresh].map((token) => global.oauth.tokens.addForCode(exchange, token, at)),
    global.oauth.clients.markUsed(client.id, at + usedClientMs, at),
  ])
  if (redeemed.length > 0) return pair.response
  // A concurrent request has redeemed the code, or the grant has ended.
  const now = await global.oauth.grants.byCode(codeHash)
  if (now?.codeUsedAt) throw await revokeReusedCode(store, now)
  throw invalidGrant('This code is no longer valid: its grant has ended.')
}

/**
 * Exchanges a refresh token for a new token pair of the same grant, after checking the user's current role. Reuse
 * within two minutes yields a few more pairs, at most one a second, because a response may be lost or several processes
 * may share the token. Later reuse counts as theft or replay and revokes the grant. Fails with `invalid_grant`,
 * `invalid_scope`, `invalid_target`, `invalid_request` or `rate_limit_exceeded`.
 *
 * @see OAuth 2.1 §4.3, RFC 9700 §4.14.2, RFC 8707 §2.2.
 */
async function refresh(
  { store, resourceOf }: OAuthParts,
  client: Client,
  form: URLSearchParams,
  presented: ReturnType<typeof presentedToken>,
) {
  const { global, write, deps } = store
  const text = required(form, 'refresh_token')
  // Accept any of the grid's URLs, because they are one audience.
  for (const requested of form.getAll('resource').filter(Boolean)) resourceOf(requested)
  if (keyKind(text) !== 'refresh_token') throw invalidGrant('This refresh token is unknown.')
  const hash = hashForLookup(text)
  const token = await presented
  if (token?.kind !== 'refresh' || token.clientId !== client.id) throw invalidGrant('This refresh token is unknown.')
  const at = deps.now()
  if (token.revokedAt !== null || token.expiresAt <= at) {
    throw invalidGrant('This refresh token has expired or was revoked. Sign in again.')
  }
  if (!readScopes(parameter(form, 'scope')).includes(token.scope)) {
    throw new GridError('invalid_scope', `This refresh token is for ${token.scope} only.`)
  }

  const pair = mintPair(deps.config, token.scope, { at, grantExpiresAt: token.grantExpiresAt })
  const exchange = { accountId: token.accountId, hash, refreshId: pair.refresh.id }
  const graceSince = at - refreshGraceMs
  const [rotated] = await write([
    global.oauth.tokens.rotate(exchange, { graceSince, maxRepeats, repeatedSince: at - repeatMs }, at),
    ...[pair.access, pair.refresh].map((token) => global.oauth.tokens.addForRefresh(exchange, token, at)),
    global.oauth.clients.markUsed(client.id, at + usedClientMs, at),
  ])
  if (rotated.length > 0) return pair.response

  const now = await global.oauth.tokens.byHash(hash)
  if (!now?.usedAt || now.revokedAt !== null) {
    throw invalidGrant('This refresh token is no longer valid: its grant has ended.')
  }
  if (now.usedAt > graceSince) {
    const limit = { name: 'refreshes', quota: 1, windowSeconds: repeatMs / second }
    const message = 'This refresh token was used a moment ago. Use the tokens of that answer, or try again in a second.'
    throw limitReached('rate_limit_exceeded', message, limit, limit.windowSeconds)
  }
  // Write a separate unit, because the revocation must be stored although the request fails.
  await write([global.oauth.grants.revoke(now.accountId, now.grantId, at)])
  throw invalidGrant('This refresh token was already used. Sign in again.')
}

/** Looks up a form's refresh token at the same time as its client, so that a remote database answers both together. */
function presentedToken({ global }: Store, form: URLSearchParams) {
  const text = form.get('refresh_token')
  return text !== null && keyKind(text) === 'refresh_token'
    ? global.oauth.tokens.byHash(hashForLookup(text))
    : undefined
}

/** Revokes the grant of a reused code, because the code was stolen or replayed. @see RFC 6749 §10.5 */
async function revokeReusedCode({ global, write, deps }: Store, grant: { accountId: string; id: string }) {
  await write([global.oauth.grants.revoke(grant.accountId, grant.id, deps.now())])
  return invalidGrant('This code was already used.')
}

/** Requires the grant's `resource`, although all of the grid's URLs are one audience. Fails with `invalid_target`. */
function requireSameResource(form: URLSearchParams, granted: string, resourceOf: OAuthParts['resourceOf']): void {
  for (const requested of form.getAll('resource').filter(Boolean)) {
    if (resourceOf(requested) !== granted) {
      throw new GridError('invalid_target', 'resource differs from the resource of the grant.')
    }
  }
}

/**
 * Handles revocation (RFC 7009). An access token is revoked alone. A refresh token is revoked with its grant and all of
 * the grant's tokens, and the account's activity log records this. Ignores unknown tokens and tokens of other clients.
 * Fails with `invalid_client` or `invalid_request`.
 */
export function revokeEndpoint(parts: OAuthParts) {
  return async function revokeEndpoint(c: AppContext): Promise<Response> {
    await revoke(parts, c.req.raw, c.get('trace').requestId)
    return new Response(null, { status: 200 })
  }
}

async function revoke({ store, clients }: OAuthParts, request: Request, requestId: string): Promise<void> {
  const { global, write, deps } = store
  const form = await readOAuthForm(deps.bodies, request)
  const client = await authenticateClient(clients, request, form)
  const text = required(form, 'token')
  const kind = keyKind(text)
  if (kind !== 'access_token' && kind !== 'refresh_token') return
  const hash = hashForLookup(text)
  const token = await global.oauth.tokens.byHash(hash)
  if (token?.clientId !== client.id) return
  if (token.kind === 'access') {
    await write([global.oauth.tokens.revoke(token.accountId, hash, deps.now())])
    return
  }
  if (token.revokedAt !== null) return
  await revokeGrantByClient(store, token, requestId).catch((error) => {
    // A concurrent request has already revoked the grant, so nothing is left to do.
    if (!(error instanceof GridError) || error.code !== 'credential_not_found') throw error
  })
}

/** Creates an access token and a refresh token. Neither outlives its grant. */
function mintPair(
  config: Config,
  scope: OAuthScope,
  { at, grantExpiresAt }: { at: number; grantExpiresAt: number },
) {
  const accessMs = scope === 'admin' ? adminTokenMs : config.oauthAgentTtlSeconds * second
  const [access, refresh] = [mintKey('access_token'), mintKey('refresh_token')]
  const row = (kind: NewOAuthToken['kind'], hash: string, lifetimeMs: number): NewOAuthToken => ({
    id: newId(),
    kind,
    hash,
    expiresAt: Math.min(at + lifetimeMs, grantExpiresAt),
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

function invalidGrant(message: string): GridError {
  return new GridError('invalid_grant', message)
}
