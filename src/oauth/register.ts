/**
 * Dynamic client registration (RFC 7591). Unusable metadata is ignored, and the response contains the stored metadata.
 */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { takeRegistration } from '../grid/people/throttle.ts'
import { type Bodies, formLimits, parseBody } from '../lib/http/body.ts'
import { addressOf } from '../lib/http/client-address.ts'
import { newId } from '../lib/id.ts'
import { mintKey } from '../lib/secrets.ts'
import { day, minute } from '../lib/time.ts'
import { cleanName } from './client-document.ts'
import { unusedClientMs } from './clients.ts'
import { isAllowedRedirect } from './redirect-uri.ts'
import type { AppContext } from '../request-context.ts'
import type { AuthMethod } from '../store/global/oauth-clients.ts'
import type { Store } from '../store/store.ts'

/**
 * Limits on registered clients. Unused clients are kept for 15 minutes, so that their users can sign in. The number of
 * clients may therefore exceed `total`, up to `most`. See docs/security.md, "OAuth".
 */
const clientLimits = { total: 10_000, most: 20_000 } as const
const youngMs = 15 * minute
/** Clients without a token request for this long count as idle. An access token lasts at most a day. */
const idleMs = 7 * day
const maxRedirectUris = 20

/**
 * Registers a client. Responds with 201 and its id. Fails with `invalid_redirect_uri`, `invalid_client_metadata`,
 * `rate_limit_exceeded` or `unavailable`.
 */
export function registerClient(store: Store) {
  const { global, write, deps: { config, now, bodies } } = store

  return async function registerClient(c: AppContext): Promise<Response> {
    if (config.oauthDcr === 'off') throw new GridError('not_found', 'Client registration is disabled on this grid.')
    const metadata = await readMetadata(bodies, c.req.raw)
    const redirectUris = allowedRedirectUris(metadata.redirect_uris, config)
    const authMethod = authMethodOf(metadata.token_endpoint_auth_method)
    const name = cleanName(typeof metadata.client_name === 'string' ? metadata.client_name : '')
    const secret = authMethod === 'none' ? undefined : mintKey('client_secret')

    await takeRegistration(store, addressOf(c, config))
    const at = now()
    const id = newId()
    const expiresAt = at + unusedClientMs
    const limits = { ...clientLimits, youngSince: at - youngMs, idleSince: at - idleMs }
    const client = {
      id,
      name,
      redirectUris: JSON.stringify(redirectUris),
      authMethod,
      secretHash: secret?.hash ?? null,
      expiresAt,
    }
    const [added] = await write(global.oauth.clients.add(client, limits, at))
    if (added.length === 0) {
      const retryAfterSeconds = 3_600
      throw new GridError('unavailable', 'The grid has reached its limit of registered clients.', { retryAfterSeconds })
    }

    const body = {
      client_id: id,
      client_id_issued_at: seconds(at),
      // The secret does not expire, but the client does unless it is used.
      ...(secret && { client_secret: secret.key, client_secret_expires_at: 0 }),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethod,
    }
    return Response.json(body, { status: 201 })
  }
}

async function readMetadata(bodies: Bodies, request: Request): Promise<Record<string, unknown>> {
  try {
    const body = parseBody(await bodies.readText(request, formLimits), formLimits)
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  } catch (error) {
    if (!(error instanceof GridError) || error.kind !== 'invalid') throw error
  }
  throw new GridError('invalid_client_metadata', 'Send the client metadata as a JSON object.')
}

function allowedRedirectUris(uris: unknown, { oauthRedirectAllow }: Config): string[] {
  const allowed = (Array.isArray(uris) ? uris : [])
    .filter((uri): uri is string => typeof uri === 'string' && isAllowedRedirect(uri, oauthRedirectAllow))
  if (allowed.length > 0) return [...new Set(allowed)].slice(0, maxRedirectUris)
  throw new GridError(
    'invalid_redirect_uri',
    `redirect_uris must contain an https URL, an http URL on localhost, a URL with a private-use scheme that contains a dot, or one of OAUTH_REDIRECT_ALLOW, which the operator sets. Sent: ${
      shownUris(uris)
    }`,
  )
}

/** Returns the first three of the submitted URIs. */
function shownUris(uris: unknown): string {
  const first = (Array.isArray(uris) ? uris : [uris]).filter((uri) => typeof uri === 'string').slice(0, 3)
  return first.length === 0 ? 'none.' : `${first.map((uri) => uri.slice(0, 200)).join(', ')}.`
}

/** Returns the authentication method. Clients are public unless they request a secret. */
function authMethodOf(method: unknown): AuthMethod {
  return method === 'client_secret_post' || method === 'client_secret_basic' ? method : 'none'
}

function seconds(atMs: number): number {
  return Math.floor(atMs / 1_000)
}
