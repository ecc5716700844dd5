/**
 * `POST /oauth/authorize`: the user's decision on the consent page. Redirects with a code or an error, or back to the
 * consent page. See docs/protocol/oauth.md, "Account picker".
 */
import { allows, requireConfirmed } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import { recordActivity } from '../grid/activity.ts'
import { createAgent } from '../grid/agents/agents.ts'
import { describeGrant } from '../grid/oauth/grants.ts'
import { retryOnConflict } from '../grid/retry-on-conflict.ts'
import { normaliseAlias } from '../aliases.ts'
import { newId } from '../lib/id.ts'
import { mintLinkToken } from '../lib/secrets.ts'
import { day, second } from '../lib/time.ts'
import type { AccountEntry } from './account-picker.ts'
import { errorAddress, seeOther } from './authorize-request.ts'
import { type AuthorizeParts, chosenParameter, searchParameter } from './authorize.ts'
import { authorizationErrorPage } from './consent-page.tsx'
import { parameter, readOAuthForm } from './form.ts'
import { authorizePath } from './metadata.ts'
import {
  type ConsentChoices,
  endConsentCookie,
  findPendingRequest,
  type PendingRequest,
  requestNotPending,
} from './pending-request.ts'
import { withParameters } from './redirect-uri.ts'
import type { Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import type { ConsentProof } from '../store/global/oauth-requests.ts'

/** The lifetime of a code. Clients redeem codes immediately. */
const codeLifetimeMs = 60 * second
/** The lifetime of a grant. Refreshing does not extend it. */
const grantLifetimeMs = 90 * day
/** Maximum number of self-registered clients that one user has authorized. The least recently used are removed. */
const clientsPerUser = 100

/** Handles the consent page's form. Form errors are shown to the user. */
export function authorizeDecision(parts: AuthorizeParts): Handler {
  return async function authorizeDecision(c) {
    const request = c.req.raw
    const trace = c.get('trace')
    const { requestId } = trace
    try {
      const visitor = await parts.sessions.visitor(request)
      if (!visitor) throw new GridError('unauthenticated', 'You are no longer signed in.')
      const form = await readOAuthForm(parts.store.deps.bodies, request)
      parts.sessions.checkForm(request, form, visitor)
      const handle = parameter(form, 'handle')
      const pending = await findPendingRequest(parts.store, request, handle, visitor)
      switch (form.get('decision')) {
        case 'allow':
          return await allow(parts, pending, form, requestId)
        case 'deny':
          return await deny(parts, pending, new GridError('access_denied', 'The user denied access.'))
        case 'new-agent':
          return await createAgentDuringConsent(parts, pending, form, requestId)
        default:
          throw new GridError('invalid_request', 'The form must contain the decision: Allow or Deny.')
      }
    } catch (error) {
      return await authorizationErrorPage(trace.refusal(error))
    }
  }
}

async function allow(
  parts: AuthorizeParts,
  pending: PendingRequest,
  form: URLSearchParams,
  requestId: string,
): Promise<Response> {
  const { proof, redirectUri, state } = pending
  const entry = findEntry(pending.choices, parameter(form, 'pick'))
  const code = mintLinkToken()
  try {
    await createGrant(parts, pending, entry, code.hash, requestId)
  } catch (error) {
    if (error instanceof GridError && error.code === 'confirmation_required') return confirmFirst(parts, pending)
    if (error instanceof GridError && error.code === 'access_denied') return await deny(parts, pending, error)
    throw error
  }
  const location = withParameters(redirectUri, { code: code.token, state, iss: pending.choices.issuer })
  return clearConsentCookie(parts, proof, seeOther(location))
}

/**
 * Stores the grant and its row in the account's activity log. Fails with `write_conflict`, or with
 * - `confirmation_required` for `@admin` if the user has not proved their identity recently,
 * - `invalid_request` if the page has already been answered,
 * - `access_denied` if the user lost the role, or the agent was deleted, after the page was shown.
 */
async function createGrant(
  { store: { global, deps }, sessions }: AuthorizeParts,
  { visitor, proof, clientId, clientName }: PendingRequest,
  { accountId, agentId }: AccountEntry,
  codeHash: string,
  requestId: string,
): Promise<void> {
  // Stop here, so that former members leave no rows in the account's activity log.
  if (!visitor.accounts.some(({ id }) => id === accountId)) throw accessLost()
  const account = sessions.openAccount(visitor, accountId)
  if (agentId === null) requireConfirmed(account.actor, deps.now())
  const agent = agentId === null ? undefined : await account.read.agents.byId(agentId)
  const id = newId()
  const grant = { id, clientId, clientName, alias: agentId === null ? null : agent?.alias ?? agentId }
  const call = { tool: 'give_grant', arguments: describeGrant(grant), requestId }
  await recordActivity(account, call, (recording) =>
    retryOnConflict(async () => {
      const at = deps.now()
      if (!(await global.oauth.requests.byProof(proof, at))) throw requestNotPending()
      if (!(await mayAuthorize(recording, visitor.user.id, agentId))) throw accessLost()
      const scope = agentId === null ? 'admin' as const : 'agent:use' as const
      const ends = { codeExpiresAt: at + codeLifetimeMs, expiresAt: at + grantLifetimeMs }
      await recording.write([
        global.oauth.requests.complete(proof, id, at),
        global.oauth.grants.add({ id, accountId, agentId, scope, codeHash, ...ends }, proof.handleHash, at),
        // Fails the entire unit if `add` stored nothing: the page was already answered, or the user lost access.
        recording.change.grants.requireLive(id),
        global.oauth.clients.removeOfUser(visitor.user.id, clientId, clientsPerUser, at),
      ])
    }))
}

/** Redirects to the page where users prove their identity. That page leads to a new consent page. */
function confirmFirst(parts: AuthorizeParts, { choices }: PendingRequest): Response {
  return seeOther(`/confirm?next=${encodeURIComponent(pageAgain(parts, choices, choices.query))}`)
}

/** Whether the user may authorize a client for this entry. `grants.add` checks this again in SQL. */
async function mayAuthorize(account: AccountStore, userId: string, agentId: string | null): Promise<boolean> {
  const member = await account.read.team.member(userId)
  if (!member || !allows(member.role, agentId === null ? 'manage' : 'use')) return false
  return agentId === null || (await account.read.agents.byId(agentId))?.type === 'mcp'
}

/** Marks the page as answered without a grant, and reports the error to the client. */
async function deny(parts: AuthorizeParts, pending: PendingRequest, error: GridError): Promise<Response> {
  const { global, write, deps } = parts.store
  const [completed] = await write([global.oauth.requests.complete(pending.proof, null, deps.now())])
  if (completed.length === 0) throw requestNotPending()
  return clearConsentCookie(parts, pending.proof, seeOther(errorAddress(pending, error, pending.choices.issuer)))
}

/** Returns the chosen entry, which must be one that the page offered. Fails with `invalid_request`. */
function findEntry({ entries }: ConsentChoices, pick: string | undefined): AccountEntry {
  const entry = entries.find((offered) => offered.pick === pick)
  if (!entry) throw new GridError('invalid_request', 'Choose one of the entries on the page.')
  return entry
}

function clearConsentCookie({ store }: AuthorizeParts, proof: ConsentProof, response: Response): Response {
  response.headers.append('Set-Cookie', endConsentCookie(proof, store.deps.config))
  return response
}

function accessLost(): GridError {
  return new GridError('access_denied', 'The user may no longer act as the chosen entry.')
}

/**
 * Creates an agent, then shows the consent page again with this agent selected. The page must have offered the account,
 * and the user must still administer it. Fails like `createAgent`, and with `invalid_request` or `access_denied`.
 */
async function createAgentDuringConsent(
  parts: AuthorizeParts,
  { visitor, choices }: PendingRequest,
  form: URLSearchParams,
  requestId: string,
): Promise<Response> {
  const { store: { global }, sessions } = parts
  const accountId = parameter(form, 'account')
  if (accountId === undefined || !choices.makeIn.includes(accountId)) {
    throw new GridError('invalid_request', 'Choose one of the accounts on the page.')
  }
  if (!(await global.oauth.picker.administers(accountId, visitor.user.id))) {
    throw new GridError('access_denied', 'You are not an owner or admin of this account.')
  }
  const account = sessions.openAccount(visitor, accountId)
  const alias = normaliseAlias(parameter(form, 'alias') ?? '')
  const call = { tool: 'admin_create_agent', arguments: { alias }, requestId }
  const { agent } = await recordActivity(account, call, (recording) => createAgent(recording, { alias }))

  const query = new URLSearchParams(choices.query)
  query.set(searchParameter, agent.alias)
  query.set(chosenParameter, `agent:${agent.id}`)
  return seeOther(pageAgain(parts, choices, query))
}

/** Returns the consent page's address with this query. */
function pageAgain({ store }: AuthorizeParts, { issuer }: ConsentChoices, query: string | URLSearchParams): string {
  return `${authorizePath(issuer, store.deps.config)}?${query}`
}
