/** Dynamic client registration (RFC 7591), forgiving: what cannot be used is left out, and the answer says what was stored. */
import { mintKey } from '../auth/secrets.ts'
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { formLimits, parseBody, readText } from '../lib/body.ts'
import { newId } from '../lib/id.ts'
import { hour } from '../lib/time.ts'
import type { AuthMethod } from '../store/global/oauth-clients.ts'
import type { Store } from '../store/store.ts'
import { cleanName } from './client-name.ts'
import { unusedClientMs } from './clients.ts'
import { isAllowedRedirect } from './redirect-uri.ts'

/** Security O10. */
export const registrationLimits = { perAddress: 60, total: 10_000 } as const
const maxRedirectUris = 5

/** What is read of a registration; everything else is tolerated. */
interface Metadata {
  client_name?: unknown
  redirect_uris?: unknown
  token_endpoint_auth_method?: unknown
}

/**
 * Register a client: 201 with its id. `address` is the caller's, as the limits count it.
 * Fails with `invalid_redirect_uri`, `invalid_client_metadata`, `rate_limit_exceeded` or `unavailable`.
 */
export async function registerClient(
  { global, write, deps: { config, now } }: Store,
  request: Request,
  address: string,
): Promise<Response> {
  if (config.oauthDcr === 'off') throw new GridError('not_found', 'Clients cannot register themselves here.')
  const metadata = await readMetadata(request)
  const redirectUris = allowedOf(metadata.redirect_uris, config)
  const authMethod = methodOf(metadata.token_endpoint_auth_method)
  const name = cleanName(typeof metadata.client_name === 'string' ? metadata.client_name : '')
  const secret = authMethod === 'none' ? undefined : await mintKey('client_secret')

  const at = now()
  const id = newId()
  const expiresAt = at + unusedClientMs
  const row = { id, name, redirectUris: JSON.stringify(redirectUris), authMethod, address, expiresAt }
  const limits = { ...registrationLimits, since: at - hour }
  const [added] = await write(global.oauth.clients.add({ ...row, secretHash: secret?.hash ?? null }, limits, at))
  if (added.length === 0) throw await refusal(global, address, at)

  const body = {
    client_id: id,
    client_id_issued_at: seconds(at),
    ...(secret && { client_secret: secret.key, client_secret_expires_at: seconds(expiresAt) }),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: authMethod,
    registration_client_uri: `${config.appUrl}/oauth/register/${id}`,
  }
  return Response.json(body, { status: 201 })
}

async function readMetadata(request: Request): Promise<Metadata> {
  try {
    const body = parseBody(await readText(request, formLimits), formLimits)
    if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  } catch (error) {
    if (!(error instanceof GridError) || error.kind !== 'invalid') throw error
  }
  throw new GridError('invalid_client_metadata', 'Send the metadata of the client as a JSON object.')
}

function allowedOf(uris: unknown, { oauthRedirectAllow }: Config): string[] {
  const allowed = (Array.isArray(uris) ? uris : [])
    .filter((uri): uri is string => typeof uri === 'string' && isAllowedRedirect(uri, oauthRedirectAllow))
  if (allowed.length > 0) return [...new Set(allowed)].slice(0, maxRedirectUris)
  throw new GridError(
    'invalid_redirect_uri',
    'redirect_uris needs an https address, an http address on localhost, or an app scheme with a dot.',
  )
}

/** Public, unless it asks for a secret. */
function methodOf(method: unknown): AuthMethod {
  return method === 'client_secret_post' || method === 'client_secret_basic' ? method : 'none'
}

async function refusal(global: Store['global'], address: string, at: number): Promise<GridError> {
  const { n, oldest } = await global.oauth.clients.fromAddress(address, at - hour)
  if (n >= registrationLimits.perAddress) {
    const retryAfterSeconds = Math.max(1, Math.ceil(((oldest ?? at) + hour - at) / 1_000))
    return new GridError('rate_limit_exceeded', 'Too many registrations from this address.', { retryAfterSeconds })
  }
  return new GridError('unavailable', 'No more clients can register now.', { retryAfterSeconds: 3_600 })
}

function seconds(atMs: number): number {
  return Math.floor(atMs / 1_000)
}
