/**
 * `GET /oauth/authorize`: the account picker. OAuth 2.1 §4.1.1, RFC 7636, RFC 8707, RFC 9207.
 * The order of checks is that of mcp.md, section 8.4.
 */
import { hashSecret, mintLinkToken } from '../auth/secrets.ts'
import type { Sessions, Visitor } from '../auth/session.ts'
import { GridError } from '../errors.ts'
import { minute } from '../lib/time.ts'
import type { Store } from '../store/store.ts'
import { asGridError } from '../wire.ts'
import {
  type AuthorizeRules,
  readTarget,
  readWish,
  refusedRedirect,
  seeOther,
  type Target,
  type Wish,
} from './authorize-request.ts'
import { isDocumentUrl } from './client-document.ts'
import { consentCookieName, setConsentCookie, surplusConsentCookies } from './consent-cookie.ts'
import { consentPage } from './consent-page.tsx'
import { type Choice, type Picker, pickerOf } from './picker.ts'
import { refusalPage } from './refusal-page.tsx'

/** How long a page waits for its answer. */
const requestMs = 10 * minute

/** What the authorization endpoint works with. */
export interface AuthorizeParts extends AuthorizeRules {
  store: Store
  sessions: Sessions
  /** `APP_URL`. */
  issuer: string
}

/** What is kept of a page: nothing else can be chosen on it. */
export interface Shown {
  entries: Choice[]
  /** Ids of the accounts where a new agent can be made. */
  makeIn: string[]
  /** The query to come back with. */
  query: string
}

/** Parameters of the page itself, beside those of the client. */
export const searchParameter = 'find'
export const chosenParameter = 'chosen'

/** The picker, a page that says why not, or a redirect with the reason. */
export function authorizePage(parts: AuthorizeParts): (request: Request, requestId: string) => Promise<Response> {
  return async function authorize(request, requestId) {
    try {
      return await answerTo(parts, request)
    } catch (error) {
      const known = asGridError(error, parts.store.deps.log, requestId)
      return await refusalPage(known, known.code === 'invalid_client' ? 400 : undefined)
    }
  }
}

async function answerTo(parts: AuthorizeParts, request: Request): Promise<Response> {
  const { pathname, searchParams: query, search } = new URL(request.url)
  const visitor = await parts.sessions.visitor(request)
  const signInFirst = () => seeOther(`/sign-in?next=${encodeURIComponent(pathname + search)}`)
  // Strangers cannot make the grid call other hosts.
  if (!visitor && isDocumentUrl(query.get('client_id') ?? '')) return signInFirst()

  const target = await readTarget(query, parts)
  // Anybody can register a client: without this, a link to us would lead whoever follows it to any address.
  // @see RFC 9700 §4.11.2
  if (!visitor) return signInFirst()
  let wish: Wish
  try {
    wish = readWish(query, parts)
  } catch (error) {
    if (!(error instanceof GridError)) throw error
    return refusedRedirect(target, error, parts.issuer)
  }
  return await showPicker(parts, request, query, { target, wish, visitor })
}

async function showPicker(
  { store, issuer }: AuthorizeParts,
  request: Request,
  query: URLSearchParams,
  { target, wish, visitor }: { target: Target; wish: Wish; visitor: Visitor },
): Promise<Response> {
  const { user } = visitor
  const picker = await pickerOf(store, user.id, wish.scopes, query.get(searchParameter) ?? '')
  const handle = await keepRequest(store, { target, wish, visitor }, shownOf(picker, query))

  const response = await consentPage({
    client: { name: target.client.name, domain: target.client.domain },
    redirectUri: target.redirectUri,
    person: user.email,
    csrf: visitor.csrf,
    handle: handle.token,
    picker,
    chosen: query.get(chosenParameter) ?? undefined,
    fields: ownParameters(query),
  })
  const isSecure = issuer.startsWith('https:')
  for (const name of surplusConsentCookies(request, isSecure)) {
    response.headers.append('Set-Cookie', setConsentCookie(name, undefined, isSecure))
  }
  const name = consentCookieName(handle.hash, isSecure)
  response.headers.append('Set-Cookie', setConsentCookie(name, handle.cookie, isSecure))
  return response
}

/** Keep the request under a handle that only this page's form has, with the cookie that only its browser has. */
async function keepRequest(
  { global, write, deps }: Store,
  { target, wish, visitor }: { target: Target; wish: Wish; visitor: Visitor },
  shown: Shown,
): Promise<{ token: string; hash: string; cookie: string }> {
  const handle = await mintLinkToken()
  const cookie = await mintLinkToken()
  await write(global.oauth.requests.add({
    handleHash: handle.hash,
    cookieHash: cookie.hash,
    sessionId: await hashSecret(visitor.sessionId),
    userId: visitor.user.id,
    clientId: target.client.id,
    clientName: target.client.name,
    redirectUri: target.redirectUri,
    state: target.state ?? null,
    codeChallenge: wish.codeChallenge,
    resource: wish.resource,
    choices: JSON.stringify(shown),
    expiresAt: deps.now() + requestMs,
  }))
  return { ...handle, cookie: cookie.token }
}

function shownOf({ admins, agents, makeIn }: Picker, query: URLSearchParams): Shown {
  const entries = [...admins, ...agents].map(({ pick, accountId, agentId }) => ({ pick, accountId, agentId }))
  return {
    entries,
    makeIn: makeIn.map(({ accountId }) => accountId),
    query: `${new URLSearchParams(ownParameters(query))}`,
  }
}

/** The parameters of the client, without those of the page. */
function ownParameters(query: URLSearchParams): [string, string][] {
  return [...query].filter(([name]) => name !== searchParameter && name !== chosenParameter)
}
