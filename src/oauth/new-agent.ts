/** A new agent, made without leaving the login. mcp.md, section 8.4; grid.md, section 6. */
import { GridError } from '../errors.ts'
import { recorded } from '../grid/activity.ts'
import { createAgent } from '../grid/agents/agents.ts'
import { bareAlias } from '../grid/agents/alias.ts'
import { type AuthorizeParts, chosenParameter, searchParameter } from './authorize.ts'
import { seeOther } from './authorize-request.ts'
import type { Answered } from './decision.ts'
import { parameter } from './form.ts'

/**
 * Make an agent in an account that the page offered and the person still administers, and show the picker again
 * with it chosen. Fails as `createAgent` does, and with `invalid_request` or `access_denied`.
 */
export async function makeAgent(
  { store: { global }, sessions }: AuthorizeParts,
  { visitor, shown }: Answered,
  form: URLSearchParams,
  requestId: string,
): Promise<Response> {
  const accountId = parameter(form, 'account')
  if (accountId === undefined || !shown.makeIn.includes(accountId)) {
    throw new GridError('invalid_request', 'Choose one of the accounts of the page.')
  }
  if (!(await global.oauth.picks.administers(accountId, visitor.user.id))) {
    throw new GridError('access_denied', 'You are not owner or admin of this account.')
  }
  const account = sessions.enter(visitor, accountId)
  const alias = bareAlias(parameter(form, 'alias') ?? '')
  const call = { tool: 'admin_create_agent', arguments: { alias }, requestId }
  const { agent } = await recorded(account, call, (recording) => createAgent(recording, { alias }))

  const query = new URLSearchParams(shown.query)
  query.set(searchParameter, agent.alias)
  query.set(chosenParameter, `agent:${agent.id}`)
  return seeOther(`/oauth/authorize?${query}`)
}
