/** `POST /oauth/authorize`: what the person decided. A code, a refusal, or back to the picker. mcp.md, section 8.4. */
import { hashSecret, mintLinkToken } from '../auth/secrets.ts'
import type { Visitor } from '../auth/session.ts'
import { GridError } from '../errors.ts'
import { newId } from '../lib/id.ts'
import { day, second } from '../lib/time.ts'
import type { RequestProof } from '../store/global/oauth-requests.ts'
import { asGridError } from '../wire.ts'
import type { AuthorizeParts, Shown } from './authorize.ts'
import { refusedRedirect, seeOther } from './authorize-request.ts'
import { consentCookieName, cookieOf, setConsentCookie } from './consent-cookie.ts'
import { parameter, readForm } from './form.ts'
import { makeAgent } from './new-agent.ts'
import type { Choice } from './picker.ts'
import { withParameters } from './redirect-uri.ts'
import { refusalPage } from './refusal-page.tsx'

/** A code is collected by a program that waits for it. */
const codeMs = 60 * second
/** The last end of a grant, however often it is refreshed. */
const grantMs = 90 * day

/** A page that is being answered. */
export interface Answered {
  visitor: Visitor
  proof: RequestProof
  redirectUri: string
  state: string | undefined
  shown: Shown
}

/** The answer to a consent page. What is wrong with it is shown to the person. */
export function authorizeDecision(parts: AuthorizeParts): (request: Request, requestId: string) => Promise<Response> {
  return async function decide(request, requestId) {
    try {
      const visitor = await parts.sessions.visitor(request)
      if (!visitor) throw new GridError('unauthenticated', 'You are no longer signed in.')
      const form = await readForm(request)
      parts.sessions.checkForm(request, form, visitor)
      const answered = await findRequest(parts, request, form, visitor)
      switch (form.get('decision')) {
        case 'allow':
          return await allow(parts, answered, form)
        case 'deny':
          return await deny(parts, answered)
        case 'new-agent':
          return await makeAgent(parts, answered, form, requestId)
        default:
          throw new GridError('invalid_request', 'The form says neither Allow nor Deny.')
      }
    } catch (error) {
      return await refusalPage(asGridError(error, parts.store.deps.log, requestId))
    }
  }
}

/** The request behind a page: of this session, this browser and this form. Fails with `invalid_request`. */
async function findRequest(
  { store: { global, deps }, issuer }: AuthorizeParts,
  request: Request,
  form: URLSearchParams,
  visitor: Visitor,
): Promise<Answered> {
  const handleHash = await hashSecret(parameter(form, 'handle') ?? '')
  const cookie = cookieOf(request, consentCookieName(handleHash, issuer.startsWith('https:')))
  const proof = {
    handleHash,
    cookieHash: await hashSecret(cookie ?? ''),
    sessionId: await hashSecret(visitor.sessionId),
    userId: visitor.user.id,
  }
  const found = await global.oauth.requests.byProof(proof, deps.now())
  if (!found) throw spent()
  return {
    visitor,
    proof,
    redirectUri: found.redirectUri,
    state: found.state ?? undefined,
    shown: JSON.parse(found.choices) as Shown,
  }
}

async function allow(parts: AuthorizeParts, answered: Answered, form: URLSearchParams): Promise<Response> {
  const { store: { global, write, deps }, issuer } = parts
  const { proof, redirectUri, state } = answered
  const { accountId, agentId } = chosen(answered.shown, parameter(form, 'pick'))
  const code = await mintLinkToken()
  const at = deps.now()
  const grant = {
    id: newId(),
    accountId,
    agentId,
    scope: agentId === null ? 'admin' as const : 'agent:use' as const,
    codeHash: code.hash,
    codeExpiresAt: at + codeMs,
    expiresAt: at + grantMs,
  }

  const [taken, added] = await write([
    global.oauth.requests.take(proof, grant.id, at),
    global.oauth.grants.add(grant, proof.handleHash, at),
  ])
  if (taken.length === 0) throw spent()
  // The role or the agent ended after the page was shown.
  if (added.length === 0) return closed(parts, proof, refusedRedirect(answered, notYours(), issuer))
  return closed(parts, proof, seeOther(withParameters(redirectUri, { code: code.token, state, iss: issuer })))
}

async function deny(parts: AuthorizeParts, answered: Answered): Promise<Response> {
  const { store: { global, write, deps }, issuer } = parts
  const [taken] = await write([global.oauth.requests.take(answered.proof, null, deps.now())])
  if (taken.length === 0) throw spent()
  const denied = new GridError('access_denied', 'The person denied access.')
  return closed(parts, answered.proof, refusedRedirect(answered, denied, issuer))
}

/** Only what the page showed can be chosen, whatever id a form names. Fails with `invalid_request`. */
function chosen({ entries }: Shown, pick: string | undefined): Choice {
  const entry = entries.find((shown) => shown.pick === pick)
  if (!entry) throw new GridError('invalid_request', 'Choose one of the entries of the page.')
  return entry
}

/** The page is answered: its cookie ends. */
function closed({ issuer }: AuthorizeParts, { handleHash }: RequestProof, response: Response): Response {
  const isSecure = issuer.startsWith('https:')
  const name = consentCookieName(handleHash, isSecure)
  response.headers.append('Set-Cookie', setConsentCookie(name, undefined, isSecure))
  return response
}

function spent(): GridError {
  return new GridError('invalid_request', 'This page was answered already, is too old, or belongs to another sign-in.')
}

function notYours(): GridError {
  return new GridError('access_denied', 'The person may no longer act for what was chosen.')
}
