/** The request of a client to be let in, checked in an order that never sends a person where nobody registered. */
import { GridError } from '../errors.ts'
import { oauthCode } from '../wire.ts'
import type { Client, Clients } from './clients.ts'
import { parameter, refuseRepeats } from './form.ts'
import { isCodeChallenge } from './pkce.ts'
import { isAllowedRedirect, isSameRedirect, withParameters } from './redirect-uri.ts'

/** Longest query: what comes with it is kept. */
const maxQuery = 8_000

export type Scope = 'admin' | 'agent:use'

/** Where an answer goes, once it is known to be the client's own address. */
export interface Target {
  client: Client
  redirectUri: string
  state: string | undefined
}

export interface Wish {
  codeChallenge: string
  /** One of the audience, in our spelling. */
  resource: string
  /** The named ones that we have; both when none was named. */
  scopes: Scope[]
}

export interface AuthorizeRules {
  clients: Clients
  /** `OAUTH_REDIRECT_ALLOW`. */
  redirectAllow: readonly string[]
  /** The URL of ours that a `resource` means; the default for undefined. Fails with `invalid_target`. */
  resourceOf(asked: string | undefined): string
}

/**
 * The part whose faults are shown to the person, because nobody else may be told.
 * Fails with `invalid_request` or `invalid_client`. mcp.md, section 8.4.
 */
export async function readTarget(query: URLSearchParams, { clients, redirectAllow }: AuthorizeRules): Promise<Target> {
  if (query.toString().length > maxQuery) throw new GridError('invalid_request', 'The address is too long.')
  refuseRepeats(query)
  const id = parameter(query, 'client_id')
  const client = id === undefined ? undefined : await clients.find(id, 'authorize')
  if (!client) {
    throw new GridError('invalid_client', 'This client is not known here, or its document could not be read.')
  }
  const redirectUri = parameter(query, 'redirect_uri')
  const isRegistered = redirectUri !== undefined &&
    client.redirectUris.some((registered) => isSameRedirect(registered, redirectUri)) &&
    isAllowedRedirect(redirectUri, redirectAllow)
  if (!isRegistered) {
    throw new GridError('invalid_request', 'The address to return to is not one that this client registered.')
  }
  return { client, redirectUri, state: parameter(query, 'state') }
}

/**
 * The part whose faults the client is told.
 * Fails with `unsupported_response_type`, `invalid_request` or `invalid_target`.
 */
export function readWish(query: URLSearchParams, { resourceOf }: AuthorizeRules): Wish {
  if (parameter(query, 'response_type') !== 'code') {
    throw new GridError('unsupported_response_type', 'response_type must be code.')
  }
  const codeChallenge = parameter(query, 'code_challenge') ?? ''
  if (parameter(query, 'code_challenge_method') !== 'S256' || !isCodeChallenge(codeChallenge)) {
    throw new GridError('invalid_request', 'PKCE is needed: code_challenge with code_challenge_method S256.')
  }
  const asked = query.getAll('resource').filter(Boolean)
  const [resource] = asked.length === 0 ? [resourceOf(undefined)] : asked.map(resourceOf)
  return { codeChallenge, resource, scopes: readScopes(parameter(query, 'scope')) }
}

/** Unknown scopes are ignored, and naming none means any. */
export function readScopes(text: string | undefined): Scope[] {
  const named = (text ?? '').split(' ')
  const known = (['admin', 'agent:use'] as const).filter((scope) => named.includes(scope))
  return known.length === 0 ? ['admin', 'agent:use'] : known
}

/** The answer of a refusal, by redirect. @see RFC 6749 §4.1.2.1, RFC 9207 §2 */
export function refusedRedirect({ redirectUri, state }: Omit<Target, 'client'>, error: GridError, iss: string) {
  return seeOther(
    withParameters(redirectUri, { error: oauthCode(error), error_description: error.message, state, iss }),
  )
}

/** 303, so that whatever was sent is not sent on. */
export function seeOther(location: string): Response {
  return new Response(null, { status: 303, headers: { Location: location } })
}
