/**
 * Sign-in with an OpenID Connect provider: code flow with PKCE, state and nonce. See docs/people.md, "Single sign-on".
 */
import { textOf } from '../../lib/text.ts'
import type { Configuration, CustomFetch } from 'openid-client'
import { GridError } from '../../errors.ts'
import { isSameIssuer, issuerForm } from '../../lib/issuers.ts'
import type { Log } from '../../lib/log.ts'
import { RemoteError } from '../../lib/outbound/remote-error.ts'
import type { SafeStream } from '../../lib/outbound/safe-stream.ts'
import { minute, second } from '../../lib/time.ts'
import { printableLine } from '../../lib/redact.ts'

export interface OidcProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** Each provider has its own URI, so that no provider can forward another one's response. @see RFC 9700 §4.4 */
  redirectUri: string
  /** Scopes to request in addition to the default ones, separated by spaces. */
  scopes: string
  /** The wanted claims. If the ID token lacks one, the userinfo endpoint is queried. */
  wanted: readonly string[]
  /** Sends the requests to the provider. */
  send: SafeStream
  /** Logs the provider's errors. */
  log: Log
  now: () => number
}

/** The data of a sign-in. The provider's response must match it. */
export interface OidcFlow {
  state: string
  nonce: string
  verifier: string
  /** Whether the user must authenticate at the provider again. */
  isFresh: boolean
}

/** An identity that has signed in. Only `issuer` and `subject` identify the person. */
export interface OidcUser {
  issuer: string
  subject: string
  /** The claims of the ID token, completed with those from the userinfo endpoint. */
  claims: Record<string, unknown>
  userInfo: 'given' | 'failed' | 'not_asked'
  /** When the provider authenticated the user, in milliseconds since the epoch. Null if not reported. */
  provedAt: number | null
}

const timeoutSeconds = 10
const maxBytes = 256 * 1024
/** Maximum age of an authentication that counts as fresh. */
const freshSeconds = 5 * minute / second
/** How far the provider's clock may be ahead. */
const maxAheadMs = 5 * minute

/** Loaded on first use, because most grids have no provider. */
const library = () => import('openid-client')

/** Returns the provider's URL for the browser. Fails with `remote_unreachable`. */
export async function authorizationUrl(provider: OidcProvider, flow: OidcFlow): Promise<string> {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library()
  const url = buildAuthorizationUrl(await discover(provider), {
    redirect_uri: provider.redirectUri,
    scope: ['openid email profile', ...provider.scopes.split(/\s+/)].filter((scope) => scope !== '').join(' '),
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
    ...(flow.isFresh && { prompt: 'login', max_age: String(freshSeconds) }),
  })
  return url.href
}

/**
 * Exchanges the code in `search`, the query of the provider's response. Checks the ID token's issuer, audience, expiry,
 * nonce and signature, and that it was not issued in the future. Fails with `remote_unreachable` or `sign_in_failed`.
 */
export async function redeemCode(provider: OidcProvider, flow: OidcFlow, search: string): Promise<OidcUser> {
  const { authorizationCodeGrant } = await library()
  const config = await discover(provider)
  try {
    const tokens = await authorizationCodeGrant(config, new URL(`${provider.redirectUri}${search}`), {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.verifier,
      idTokenExpected: true,
      ...(flow.isFresh && { maxAge: freshSeconds }),
    })
    const id = tokens.claims()!
    const provedAt = typeof id.auth_time === 'number' ? id.auth_time * second : null
    if (Math.max(id.iat * second, provedAt ?? 0) > provider.now() + maxAheadMs) throw new TokenFromTheFuture()
    const more = await userInfoOf(provider, config, id, tokens.access_token)
    const claims = more === undefined ? id : { ...withoutForeignProof(more, id), ...id }
    const userInfo = more === undefined ? 'not_asked' : more === failed ? 'failed' : 'given'
    return { issuer: id.iss, subject: id.sub, claims, userInfo, provedAt }
  } catch (error) {
    logFault(provider, error)
    if ((error as { error?: unknown }).error === 'access_denied') {
      throw new GridError(
        'sign_in_failed',
        'The provider reports that the sign-in was cancelled, or that you may not use it for this grid (access_denied).',
      )
    }
    throw new GridError('sign_in_failed', 'The provider has not signed you in. Begin the sign-in again.')
  }
}

class TokenFromTheFuture extends Error {
  readonly code = 'token_from_the_future'
}

type Claims = Record<string, unknown>
const failed: Claims = {}

/**
 * Returns the claims from the userinfo endpoint, which must have the same subject. Undefined if the ID token contains
 * all wanted claims or there is no such endpoint.
 */
async function userInfoOf(
  provider: OidcProvider,
  config: Configuration,
  id: Claims & { sub: string },
  token: string,
): Promise<Claims | undefined> {
  const isComplete = provider.wanted.every((name) => claimAt(id, name) !== undefined)
  if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) return undefined
  try {
    const { fetchUserInfo } = await library()
    return await fetchUserInfo(config, token, id.sub)
  } catch (error) {
    logFault(provider, error)
    return failed
  }
}

/** Drops `email_verified` if it refers to an address other than the ID token's. */
function withoutForeignProof(more: Claims, id: Claims): Claims {
  if (id.email === undefined || id.email === more.email) return more
  const { email_verified: _, ...others } = more
  return others
}

/** Finds a claim by its name, which may contain dots, or by its path, such as `realm_access.roles`. */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path] ?? undefined
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = Object.hasOwn(claims, path.slice(0, dot)) ? claims[path.slice(0, dot)] : undefined
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue
    const found = claimAt(inner as Claims, path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

/** The provider's metadata contains a different issuer, `said`. */
export class OtherIssuer extends GridError {
  readonly said: string

  constructor(said: string) {
    super(
      'remote_unreachable',
      'The single sign-on provider reports a different issuer than the one set up here.',
    )
    this.said = said
  }
}

/**
 * Discovers the provider. Fails with `remote_unreachable`, including if its metadata names another issuer. Only owners
 * may see the `cause`, because others could probe networks with it.
 */
export async function discover(provider: OidcProvider): Promise<Configuration> {
  try {
    return await discoverAt(provider, issuerForm(provider.issuer))
  } catch (error) {
    const { cause } = error as { cause?: { attribute?: unknown; body?: { issuer?: unknown } } }
    if (cause?.attribute !== 'issuer') refuseProvider(provider, error)
    const said = textOf(cause.body?.issuer).slice(0, maxIssuerLength)
    if (!isSameIssuer(said, provider.issuer)) throw otherIssuer(provider, said)
    return await discoverAt(provider, said).catch((error) => refuseProvider(provider, error))
  }
}

const maxIssuerLength = 300

function otherIssuer({ log, issuer }: OidcProvider, said: string): OtherIssuer {
  log.warn('A provider of single sign-on calls itself by another issuer', { expected: issuer, said })
  return new OtherIssuer(said)
}

function refuseProvider(provider: OidcProvider, error: unknown): never {
  if (error instanceof OtherIssuer) throw error
  logFault(provider, error)
  const cause = [error, (error as Error).cause].find((one) => one instanceof RemoteError)
  const refused = new GridError('remote_unreachable', 'The single sign-on provider does not respond correctly.')
  throw Object.assign(refused, { cause })
}

async function discoverAt(provider: OidcProvider, issuer: string): Promise<Configuration> {
  const { clientId, clientSecret, send } = provider
  const client = await library()
  const [post, basic] = [client.ClientSecretPost(clientSecret), client.ClientSecretBasic(clientSecret)]
  const authenticate: typeof basic = (server, ...rest) => {
    // `client_secret_basic` is the default if the metadata lists no methods. @see OpenID Connect Discovery 1.0 §3
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
  const config = await client.discovery(new URL(issuer), clientId, clientSecret, authenticate, {
    [client.customFetch]: fetchBy(send),
    timeout: timeoutSeconds,
    execute: [
      client.enableNonRepudiationChecks,
      // HTTP is allowed here, because `send` refuses it where it is not permitted.
      ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
    ],
  })
  // `/.well-known/` URLs are read as metadata documents, which could name any issuer, so the issuer is checked here.
  const said = config.serverMetadata().issuer
  if (issuer.includes('/.well-known/') && !isSameIssuer(said, provider.issuer)) throw otherIssuer(provider, said)
  return config
}

function fetchBy(send: SafeStream): CustomFetch {
  return (url, { method, headers, body, signal }) => {
    const { 'content-type': contentType, 'user-agent': _, ...others } = headers
    const text = body == null ? undefined : String(body)
    return send(url, {
      method,
      body: text,
      contentType,
      headers: others,
      timeoutMs: timeoutSeconds * second,
      maxBytes,
      signal,
    })
  }
}

/** Logs only codes, because an error message may contain text of the provider. */
function logFault({ log, issuer }: OidcProvider, error: unknown): void {
  const { code, name, error: answered } = error as { code?: unknown; name?: unknown; error?: unknown }
  const fault = [code ?? name, answered].filter((word) => typeof word === 'string').join(' ')
  log.warn('A provider of single sign-on has failed', { host: new URL(issuer).host, fault: printableLine(fault, 100) })
}
