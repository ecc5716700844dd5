/** Creating an agent on the consent page. See docs/protocol.md, "Account picker" and "Consent page". */
import { GridError } from '../errors.ts'
import { recordActivity } from '../grid/activity.ts'
import { createAgent } from '../grid/agents/agents.ts'
import { normaliseAlias } from '../lib/alias.ts'
import { seeOther } from './authorize-request.ts'
import { type AuthorizeParts, chosenParameter, searchParameter } from './authorize.ts'
import { parameter } from './form.ts'
import type { PendingRequest } from './pending-request.ts'

/**
 * Create an agent in an account that the page offered and that the user still administers, then show the consent page
 * again with this agent selected. Fails like `createAgent`, and with `invalid_request` or `access_denied`.
 */
export async function createAgentDuringConsent(
  { store: { global }, sessions }: AuthorizeParts,
  { visitor, choices }: PendingRequest,
  form: URLSearchParams,
  requestId: string,
): Promise<Response> {
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
  return seeOther(`/oauth/authorize?${query}`)
}
