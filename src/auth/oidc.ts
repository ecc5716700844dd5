/** Sign-in with a provider of OpenID Connect: code flow with PKCE, state and nonce. See docs/security.md, "Single sign-on". */
import type { Configuration, CustomFetch } from 'openid-client'
import { GridError } from '../errors.ts'
import type { Log } from '../lib/log.ts'
import type { SafeStream } from '../lib/outbound/safe-stream.ts'
import { minute, second } from '../lib/time.ts'
import { printableLine } from '../lib/redact.ts'

export interface OidcProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** Its own for each provider, so that no provider can pass on what another one has answered. @see RFC 9700 §4.4 */
  redirectUri: string
  /** Every request to the provider goes through it. */
  send: SafeStream
  /** Told what the provider did wrong. */
  log: Log
}

/** What a sign-in that goes on at the provider must come back with. */
export interface OidcFlow {
  state: string
  nonce: string
  verifier: string
  /** The user must prove there again who they are. */
  isFresh: boolean
}

/** Who has signed in there. Only `issuer` and `subject` tell people apart. */
export interface OidcUser {
  issuer: string
  subject: string
  claims: Record<string, unknown>
  /** When they proved there who they are, in milliseconds since the epoch; null if the provider does not say. */
  provedAt: number | null
}

const timeoutSeconds = 10
const maxBytes = 256 * 1024
/** How long ago a fresh proof may have been given there. */
const freshSeconds = 5 * minute / second

/** Loaded on first use: most grids have no provider. */
const library = () => import('openid-client')

/** Where the browser goes on. Fails with `remote_unreachable`. */
export async function authorizationUrl(provider: OidcProvider, flow: OidcFlow): Promise<string> {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await library()
  const url = buildAuthorizationUrl(await discover(provider), {
    redirect_uri: provider.redirectUri,
    scope: 'openid email profile',
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: 'S256',
    ...(flow.isFresh && { prompt: 'login', max_age: String(freshSeconds) }),
  })
  return url.href
}

/**
 * Exchange the code that the provider has sent back in the query `search`. Issuer, audience, expiry, nonce and signature of
 * the ID token are checked. Fails with `remote_unreachable` or `sign_in_failed`.
 */
export async function redeemCode(provider: OidcProvider, flow: OidcFlow, search: string): Promise<OidcUser> {
  const { authorizationCodeGrant, fetchUserInfo } = await library()
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
    // Many providers tell the address only there. The subject must be the same.
    const more = config.serverMetadata().userinfo_endpoint === undefined
      ? {}
      : await fetchUserInfo(config, tokens.access_token, id.sub)
    const provedAt = typeof id.auth_time === 'number' ? id.auth_time * second : null
    return { issuer: id.iss, subject: id.sub, claims: { ...more, ...id }, provedAt }
  } catch (error) {
    logFault(provider, error)
    throw new GridError('sign_in_failed', 'The provider has not signed you in. Begin the sign-in again.')
  }
}

/** Fails with `remote_unreachable`, also if the metadata are those of another issuer. */
export async function discover(provider: OidcProvider): Promise<Configuration> {
  const { issuer, clientId, clientSecret, send } = provider
  const client = await library()
  const [post, basic] = [client.ClientSecretPost(clientSecret), client.ClientSecretBasic(clientSecret)]
  const authenticate: typeof basic = (server, ...rest) => {
    // Without the list, basic is what every provider takes. @see OpenID Connect Discovery 1.0 §3
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
  try {
    return await client.discovery(new URL(issuer), clientId, clientSecret, authenticate, {
      [client.customFetch]: fetchBy(send),
      timeout: timeoutSeconds,
      execute: [
        client.enableNonRepudiationChecks,
        // `send` refuses HTTP where it is not allowed.
        ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : []),
      ],
    })
  } catch (error) {
    logFault(provider, error)
    throw new GridError('remote_unreachable', 'The provider of single sign-on does not answer as it should.')
  }
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

/** Only codes: the message of an error may have text of the provider. */
function logFault({ log, issuer }: OidcProvider, error: unknown): void {
  const { code, name, error: answered } = error as { code?: unknown; name?: unknown; error?: unknown }
  const fault = [code ?? name, answered].filter((word) => typeof word === 'string').join(' ')
  log.warn('A provider of single sign-on has failed', { host: new URL(issuer).host, fault: printableLine(fault, 100) })
}
