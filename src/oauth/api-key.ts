/** `POST /api/oauth/api-key`: a static key for a client that signed in as an agent. See docs/protocol.md, "Static key of an agent". */
import type { AuthenticateCall } from '../auth/bearer.ts'
import { GridError } from '../errors.ts'
import { recordActivity } from '../grid/activity.ts'
import { fetchAgentKey } from '../grid/agents/agent-keys.ts'
import { keyPrefixes } from '../lib/secrets.ts'
import type { Handler } from '../request-context.ts'

/**
 * Answers with a new agent key, which replaces the one that the client fetched before and is not shown again. The call
 * is recorded in the activity log. Fails with `unauthenticated`, `rate_limit_exceeded`, or with `agent_token_required` for any other kind
 * of credential.
 */
export function oauthApiKey(authenticateCall: AuthenticateCall): Handler {
  return async function oauthApiKey(context) {
    const { account } = await authenticateCall(context)
    const { request, requestId } = context
    const isAccessToken = request.headers.get('authorization')?.split(' ').at(-1)?.startsWith(keyPrefixes.access_token)
    if (account.actor.type !== 'agent' || !isAccessToken) {
      throw new GridError('agent_token_required', 'This endpoint requires the OAuth access token of an agent.')
    }
    const call = { tool: 'fetch_agent_key', arguments: { alias: `@${account.actor.alias}` }, requestId }
    const { agentId, alias, apiKey } = await recordActivity(account, call, fetchAgentKey)
    return Response.json({ apiKey, alias: `@${alias}`, agentId })
  }
}
