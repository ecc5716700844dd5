/** Parses and validates authorization requests. The order of checks prevents redirects to unregistered addresses. */
import { GridError } from '../errors.ts'
import type { Client, OAuthParts } from './clients.ts'
import { parameter, rejectRepeatedParameters } from './form.ts'
import { isAllowedRedirect, isSameRedirect, withParameters } from './redirect-uri.ts'
import type { OAuthScope } from '../store/global/oauth-grants.ts'
import { oauthCode } from '../wire.ts'

/** Maximum length of the query. The limit is needed because the query is stored with the request. */
const maxQueryLength = 8_000

/** A known client and one of its registered redirect URIs, to which later errors may be sent. */
export interface ClientRedirect {
  client: Client
  redirectUri: string
  state: string | undefined
}

export interface AuthorizationRequest extends ClientRedirect {
  codeChallenge: string
  /** One of the grid's resource URLs, normalised. */
  resource: string
  /** The known scopes among the requested ones. All scopes if the request names no known scope. */
  scopes: OAuthScope[]
}

/**
 * Checks the client and its redirect URI. Errors in this step are shown to the user, because the redirect URI is not
 * trusted yet. Fails with `invalid_request` or `invalid_client`. See docs/protocol/oauth.md, "Authorization".
 */
export async function readClientRedirect(
  query: URLSearchParams,
  { store, clients }: OAuthParts,
  userId?: string,
): Promise<ClientRedirect> {
  if (query.toString().length > maxQueryLength) throw new GridError('invalid_request', 'The address is too long.')
  rejectRepeatedParameters(query)
  const id = parameter(query, 'client_id')
  const client = id === undefined ? undefined : await clients.find(id, 'authorize', userId)
  if (!client) {
    throw new GridError(
      'invalid_client',
      'This client is unknown, or its metadata document could not be read. In the program, sign out of this server, or remove it and add it again.',
    )
  }
  const redirectUri = parameter(query, 'redirect_uri')
  const isRegistered = redirectUri !== undefined &&
    client.redirectUris.some((registered) => isSameRedirect(registered, redirectUri)) &&
    isAllowedRedirect(redirectUri, store.deps.config.oauthRedirectAllow)
  if (!isRegistered) {
    const shown = client.redirectUris.slice(0, 5).map((uri) => uri.slice(0, 200)).join(', ')
    throw new GridError(
      'invalid_request',
      `This client has not registered the redirect URI of the request, or the grid does not allow it: OAUTH_REDIRECT_ALLOW lists further ones. It came as ${
        (redirectUri ?? '(none)').slice(0, 200)
      }. Registered: ${shown}.`,
    )
  }
  return { client, redirectUri, state: parameter(query, 'state') }
}

/**
 * Checks the rest of the request. Errors in this step may be sent to the client. Fails with
 * `unsupported_response_type`, `invalid_request` or `invalid_target`.
 */
export function readAuthorizationRequest(
  query: URLSearchParams,
  redirect: ClientRedirect,
  { resourceOf }: OAuthParts,
): AuthorizationRequest {
  if (parameter(query, 'response_type') !== 'code') {
    throw new GridError('unsupported_response_type', 'response_type must be code.')
  }
  const codeChallenge = parameter(query, 'code_challenge') ?? ''
  if (parameter(query, 'code_challenge_method') !== 'S256' || !isCodeChallenge(codeChallenge)) {
    throw new GridError('invalid_request', 'PKCE is required: code_challenge with code_challenge_method S256.')
  }
  const requested = query.getAll('resource').filter(Boolean)
  const [resource] = requested.length === 0 ? [resourceOf(undefined)] : requested.map(resourceOf)
  return { ...redirect, codeChallenge, resource, scopes: readScopes(parameter(query, 'scope')) }
}

/** Parses a `scope` parameter. Ignores unknown scopes. Returns all scopes if none is known. */
export function readScopes(text: string | undefined): OAuthScope[] {
  const requested = (text ?? '').split(' ')
  const known = (['admin', 'agent:use'] as const).filter((scope) => requested.includes(scope))
  return known.length === 0 ? ['admin', 'agent:use'] : known
}

/** Returns the redirect URI that reports an error to the client. @see RFC 6749 §4.1.2.1, RFC 9207 §2 */
export function errorAddress(
  { redirectUri, state }: Omit<ClientRedirect, 'client'>,
  error: GridError,
  iss: string,
): string {
  return withParameters(redirectUri, { error: oauthCode(error), error_description: error.message, state, iss })
}

/** Uses 303, so that browsers do not repost the form to the new address. */
export function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { Location: location } })
}

/** Matches 32 bytes in base64url. */
function isCodeChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}
