/** `POST /oauth/authorize`: what the person decided. A code, a refusal, or back to the picker. mcp.md, section 8.4. */
import { allows } from '../auth/actor.ts'
import { hashSecret, mintLinkToken } from '../auth/secrets.ts'
import type { Visitor } from '../auth/session.ts'
import { GridError } from '../errors.ts'
import { recorded } from '../grid/activity.ts'
import { againOnConflict } from '../grid/retry-on-conflict.ts'
import { grantInWords } from '../grid/oauth/grants.ts'
import { newId } from '../lib/id.ts'
import { day, second } from '../lib/time.ts'
import type { AccountStore } from '../store/account.ts'
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
  clientId: string
  clientName: string
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
          return await allow(parts, answered, form, requestId)
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
    clientId: found.clientId,
    clientName: found.clientName,
    redirectUri: found.redirectUri,
    state: found.state ?? undefined,
    shown: JSON.parse(found.choices) as Shown,
  }
}

async function allow(
  parts: AuthorizeParts,
  answered: Answered,
  form: URLSearchParams,
  requestId: string,
): Promise<Response> {
  const { store: { global, write, deps }, issuer } = parts
  const { proof, redirectUri, state } = answered
  const choice = chosen(answered.shown, parameter(form, 'pick'))
  const code = await mintLinkToken()
  try {
    await give(parts, answered, choice, code.hash, requestId)
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'access_denied') throw error
    const [taken] = await write([global.oauth.requests.take(proof, null, deps.now())])
    if (taken.length === 0) throw spent()
    return closed(parts, proof, refusedRedirect(answered, error, issuer))
  }
  return closed(parts, proof, seeOther(withParameters(redirectUri, { code: code.token, state, iss: issuer })))
}

/**
 * The grant, with its row in the log of the account. Fails with `invalid_request` when the page was answered
 * meanwhile, and with `access_denied` when the role or the agent ended after the page was shown.
 */
async function give(
  { store: { global, deps }, sessions }: AuthorizeParts,
  { visitor, proof, clientId, clientName }: Answered,
  { accountId, agentId }: Choice,
  codeHash: string,
  requestId: string,
): Promise<void> {
  // The log of an account has nothing of people who do not belong to it.
  if (!visitor.accounts.some(({ id }) => id === accountId)) throw notYours()
  const account = sessions.enter(visitor, accountId)
  const agent = agentId === null ? undefined : await account.read.agents.byId(agentId)
  const id = newId()
  const named = { id, clientId, clientName, alias: agentId === null ? null : agent?.alias ?? agentId }
  const call = { tool: 'give_grant', arguments: grantInWords(named), requestId }
  await recorded(account, call, (recording) =>
    againOnConflict(async () => {
      const at = deps.now()
      if (!(await global.oauth.requests.byProof(proof, at))) throw spent()
      if (!(await mayChoose(recording, visitor.user.id, agentId))) throw notYours()
      const scope = agentId === null ? 'admin' as const : 'agent:use' as const
      const ends = { codeExpiresAt: at + codeMs, expiresAt: at + grantMs }
      await recording.write([
        global.oauth.requests.take(proof, id, at),
        global.oauth.grants.add({ id, accountId, agentId, scope, codeHash, ...ends }, proof.handleHash, at),
        // Not added when the page was answered or the choice ended meanwhile: then nothing of this is stored.
        recording.change.grants.requireLive(id),
      ])
    }))
}

/** Whether a person may let a client be this now; `grants.add` asks again. */
async function mayChoose(account: AccountStore, userId: string, agentId: string | null): Promise<boolean> {
  const member = await account.read.team.member(userId)
  if (!member || !allows(member.role, agentId === null ? 'manage' : 'use')) return false
  return agentId === null || (await account.read.agents.byId(agentId))?.type === 'mcp'
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
