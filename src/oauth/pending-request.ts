/** Authorization requests that wait for the user's decision. They are stored while the consent page is open. */
import type { Visitor } from '../auth/session.ts'
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { cookieName, cookieNames, cookieOf, serializeCookie } from '../lib/http/cookies.ts'
import { hashForLookup, mintLinkToken } from '../lib/secrets.ts'
import { minute } from '../lib/time.ts'
import type { AccountEntry } from './account-picker.ts'
import type { AuthorizationRequest } from './authorize-request.ts'
import type { ConsentProof } from '../store/global/oauth-requests.ts'
import type { Store } from '../store/store.ts'

/** The entries that the consent page offered, stored as JSON. Others cannot be chosen. */
export interface ConsentChoices {
  entries: AccountEntry[]
  /** Ids of the accounts in which the page offered to create an agent. */
  makeIn: string[]
  /** The authorization request's query, used to show the page again. */
  query: string
  /** The issuer whose metadata the client used. */
  issuer: string
}

/** A stored request whose consent page the user is answering. */
export interface PendingRequest {
  visitor: Visitor
  proof: ConsentProof
  clientId: string
  clientName: string
  redirectUri: string
  state: string | undefined
  choices: ConsentChoices
}

/** A consent page's secrets: the handle is in its form, the cookie in the browser. */
interface ConsentHandle {
  token: string
  hash: string
  cookie: string
}

/** Stores a request. Only the page's form has the handle, and only the browser that opened the page has the cookie. */
export async function savePendingRequest(
  { global, write, deps }: Store,
  authorization: AuthorizationRequest,
  visitor: Visitor,
  choices: ConsentChoices,
): Promise<ConsentHandle> {
  const handle = mintLinkToken()
  const cookie = mintLinkToken()
  await write(global.oauth.requests.add({
    handleHash: handle.hash,
    cookieHash: cookie.hash,
    sessionId: hashForLookup(visitor.sessionId),
    userId: visitor.user.id,
    clientId: authorization.client.id,
    clientName: authorization.client.name,
    redirectUri: authorization.redirectUri,
    state: authorization.state ?? null,
    codeChallenge: authorization.codeChallenge,
    resource: authorization.resource,
    choices: JSON.stringify(choices),
    expiresAt: deps.now() + lifetimeMs,
  }))
  return { ...handle, cookie: cookie.token }
}

/**
 * Returns the pending request with this handle, if it belongs to this session and this browser. Fails with
 * `invalid_request`.
 */
export async function findPendingRequest(
  { global, deps }: Store,
  request: Request,
  handle: string | undefined,
  visitor: Visitor,
): Promise<PendingRequest> {
  const handleHash = hashForLookup(handle ?? '')
  const cookie = cookieOf(request, consentCookieName(handleHash, deps.config))
  const proof = {
    handleHash,
    cookieHash: hashForLookup(cookie ?? ''),
    sessionId: hashForLookup(visitor.sessionId),
    userId: visitor.user.id,
  }
  const found = await global.oauth.requests.byProof(proof, deps.now())
  if (!found) throw requestNotPending()
  return {
    visitor,
    proof,
    clientId: found.clientId,
    clientName: found.clientName,
    redirectUri: found.redirectUri,
    state: found.state ?? undefined,
    choices: JSON.parse(found.choices) as ConsentChoices,
  }
}

export function requestNotPending(): GridError {
  return new GridError(
    'invalid_request',
    'This page has already been answered, has expired, or belongs to another session.',
  )
}

const lifetimeMs = 10 * minute
const prefix = 'consent-'
/** Maximum number of consent cookies in a browser. */
const maxCookies = 10

/** Returns the name of the cookie that belongs to a handle. */
function consentCookieName(handleHash: string, config: Config): string {
  return cookieName(prefix + handleHash.slice(0, 12), isSecure(config))
}

/** Returns the `Set-Cookie` headers that set a consent page's cookie and remove the oldest beyond `maxCookies`. */
export function consentCookies(request: Request, { hash, cookie }: ConsentHandle, config: Config): string[] {
  const names = cookieNames(request).filter((name) => name.startsWith(cookieName(prefix, isSecure(config))))
  const surplus = names.slice(0, Math.max(0, names.length - maxCookies + 1))
  return [
    ...surplus.map((name) => serializeCookie(name, '', { isSecure: isSecure(config), maxAgeMs: 0 })),
    serializeCookie(consentCookieName(hash, config), cookie, { isSecure: isSecure(config), maxAgeMs: lifetimeMs }),
  ]
}

/** Returns the `Set-Cookie` header that removes an answered page's cookie. */
export function endConsentCookie({ handleHash }: ConsentProof, config: Config): string {
  return serializeCookie(consentCookieName(handleHash, config), '', { isSecure: isSecure(config), maxAgeMs: 0 })
}

function isSecure({ appUrl }: Config): boolean {
  return appUrl.startsWith('https:')
}
