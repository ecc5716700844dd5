/**
 * `GET /oauth/authorize`: the authorization endpoint, which shows the consent page. See docs/protocol/oauth.md,
 * "Authorization", for the order of checks.
 * @see OAuth 2.1 §4.1.1, RFC 7636, RFC 8707, RFC 9207
 */
import type { Sessions, Visitor } from '../auth/session.ts'
import { GridError } from '../errors.ts'
import { aliasPattern, normaliseAlias } from '../aliases.ts'
import { type AccountPicker, loadAccountPicker } from './account-picker.ts'
import {
  type AuthorizationRequest,
  errorAddress,
  readAuthorizationRequest,
  readClientRedirect,
  seeOther,
} from './authorize-request.ts'
import { isDocumentUrl } from './client-document.ts'
import type { Client, OAuthParts } from './clients.ts'
import { authorizationErrorPage, consentPage } from './consent-page.tsx'
import { parameter } from './form.ts'
import { authorizePath } from './metadata.ts'
import { type ConsentChoices, consentCookies, savePendingRequest } from './pending-request.ts'
import type { Handler } from '../request-context.ts'

/** Dependencies of the authorization endpoint. */
export interface AuthorizeParts extends OAuthParts {
  sessions: Sessions
  /** Returns the issuer for the host in the path. Fails with `not_found`. */
  issuerAt(host: string | undefined): string
}

/** The query parameters that the consent page adds to the client's. */
export const searchParameter = 'find'
export const chosenParameter = 'chosen'

/** Responds with the consent page, an error page, or a redirect that reports an error to the client. */
export function authorizePage(parts: AuthorizeParts): Handler {
  return async function authorizePage(c) {
    try {
      return await authorize(parts, c.req.raw, parts.issuerAt(c.req.param('host')))
    } catch (error) {
      const known = c.get('trace').refusal(error)
      return await authorizationErrorPage(known, known.code === 'invalid_client' ? { status: 400 } : {})
    }
  }
}

async function authorize(parts: AuthorizeParts, request: Request, issuer: string): Promise<Response> {
  const { pathname, searchParams: query, search } = new URL(request.url)
  const visitor = await parts.sessions.visitor(request)
  const signInFirst = () => seeOther(`/sign-in?next=${encodeURIComponent(pathname + search)}`)
  // Require a sign-in, so that anonymous callers cannot make the grid fetch a client document.
  if (!visitor && isDocumentUrl(query.get('client_id') ?? '')) return signInFirst()

  const redirect = await readClientRedirect(query, parts, visitor?.user.id)
  // Require a sign-in before any redirect to the client. See `reportToClient`.
  if (!visitor) return signInFirst()
  let authorization: AuthorizationRequest
  try {
    authorization = readAuthorizationRequest(query, redirect, parts)
  } catch (error) {
    if (!(error instanceof GridError)) throw error
    return await reportToClient(parts, errorAddress(redirect, error, issuer), redirect.client, error, visitor)
  }
  return await showConsentPage(parts, request, query, authorization, visitor, issuer)
}

/**
 * Redirects to the client if the user has already authorized it. Otherwise shows a page with a link: anyone can
 * register a client, so a link to the grid must not lead to arbitrary addresses without a click. @see RFC 9700 §4.11.2
 */
async function reportToClient(
  { store: { global, deps } }: AuthorizeParts,
  returnTo: string,
  client: Client,
  error: GridError,
  { user }: Visitor,
): Promise<Response> {
  const isApproved = await global.oauth.grants.hasApproved(user.id, client.id, deps.now())
  return isApproved ? seeOther(returnTo) : await authorizationErrorPage(error, { returnTo })
}

async function showConsentPage(
  { store }: AuthorizeParts,
  request: Request,
  query: URLSearchParams,
  authorization: AuthorizationRequest,
  visitor: Visitor,
  issuer: string,
): Promise<Response> {
  const { client, redirectUri, scopes } = authorization
  const search = query.get(searchParameter) ?? ''
  const picker = openedBy(visitor, await loadAccountPicker(store, visitor.user.id, scopes, search, hintedAlias(query)))
  const handle = await savePendingRequest(store, authorization, visitor, choicesOf(picker, query, issuer))

  const response = await consentPage({
    client: { name: client.name, domain: client.domain },
    redirectUri,
    userEmail: visitor.user.email,
    csrf: visitor.csrf,
    handle: handle.token,
    picker,
    chosen: query.get(chosenParameter) ?? undefined,
    path: authorizePath(issuer, store.deps.config),
    searchFields: clientParameters(query),
  })
  for (const cookie of consentCookies(request, handle, store.deps.config)) {
    response.headers.append('Set-Cookie', cookie)
  }
  return response
}

/** Removes accounts that the session cannot open from the picker. */
function openedBy({ accounts }: Visitor, picker: AccountPicker): AccountPicker {
  const isOpened = ({ accountId }: { accountId: string }) => accounts.some(({ id }) => id === accountId)
  const { admins, agents, newAgentAccounts, hinted } = picker
  return {
    ...picker,
    admins: admins.filter(isOpened),
    agents: agents.filter(isOpened),
    newAgentAccounts: newAgentAccounts.filter(isOpened),
    hinted: hinted && 'entry' in hinted && !isOpened(hinted.entry) ? { missing: hinted.entry.alias } : hinted,
  }
}

/** Returns the alias that a client requests. Undefined for other hints, such as email addresses. */
function hintedAlias(query: URLSearchParams): string | undefined {
  const alias = normaliseAlias(parameter(query, 'login_hint') ?? '')
  return aliasPattern.test(alias) ? alias : undefined
}

function choicesOf(
  { admins, agents, newAgentAccounts }: AccountPicker,
  query: URLSearchParams,
  issuer: string,
): ConsentChoices {
  const entries = [...admins, ...agents].map(({ pick, accountId, agentId }) => ({ pick, accountId, agentId }))
  return {
    entries,
    makeIn: newAgentAccounts.map(({ accountId }) => accountId),
    query: `${new URLSearchParams(clientParameters(query))}`,
    issuer,
  }
}

/** Returns the client's query parameters, without the consent page's own. */
function clientParameters(query: URLSearchParams): [string, string][] {
  return [...query].filter(([name]) => name !== searchParameter && name !== chosenParameter)
}
