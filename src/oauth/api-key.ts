/** `POST /api/oauth/api-key`: a static key for a program that signed in as an agent. grid.md, section 3. */
import type { Bearer } from '../auth/bearer.ts'
import { keyPrefixes } from '../auth/secrets.ts'
import { GridError } from '../errors.ts'
import { recorded } from '../grid/activity.ts'
import { replaceAgentKey } from '../grid/agents/agent-keys.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'

/**
 * A new key of the agent, which replaces the one it had; shown here only. The log of the account has who fetched it.
 * Fails with `unauthenticated`, or `agent_token_required` for any other credential.
 */
export function oauthApiKey(authenticate: Bearer) {
  return async function oauthApiKey(request: Request, requestId: string): Promise<Response> {
    if (request.method === 'OPTIONS') return preflight('POST, OPTIONS')
    const authorization = request.headers.get('authorization')
    const account = await authenticate(authorization)
    const isAccessToken = authorization?.split(' ').at(-1)?.startsWith(keyPrefixes.access_token)
    if (account.actor.type !== 'agent' || !isAccessToken) {
      throw new GridError('agent_token_required', 'Sign in with OAuth as an agent: this takes its access token alone.')
    }
    const call = { tool: 'fetch_agent_key', arguments: { alias: `@${account.actor.alias}` }, requestId }
    const { agentId, alias, apiKey } = await recorded(account, call, replaceAgentKey)
    return Response.json({ apiKey, alias: `@${alias}`, agentId }, { headers: corsHeaders })
  }
}
