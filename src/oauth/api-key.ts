/** `POST /api/oauth/api-key`: a static key for a client that signed in as an agent. See docs/protocol.md, "Static key of an agent". */
import * as z from 'zod'
import type { AuthenticateCall } from '../auth/bearer.ts'
import { GridError } from '../errors.ts'
import { recordActivity } from '../grid/activity.ts'
import { fetchAgentKey } from '../grid/agents/agent-settings.ts'
import { type Bodies, formLimits, parseBody } from '../lib/http/body.ts'
import { parse } from '../lib/input.ts'
import { keyPrefixes } from '../lib/secrets.ts'
import type { Handler } from '../request-context.ts'

/** The body, which may be absent. */
export const apiKeyInput = z.object({
  name: z.string().meta({ minLength: 1, maxLength: 80 }).optional()
    .describe('What the key is for, such as "claude on laptop"; by default the name of the client'),
})

/** The answer. */
export const apiKeyOutput = z.object({
  apiKey: z.string().describe('The key, shown once'),
  alias: z.string().describe('The alias of the agent, with @'),
  agentId: z.string(),
  name: z.string().describe('The name of the key'),
})

/**
 * Answers with a new agent key, which replaces the one of this name that the client fetched before and is not shown
 * again. The call is recorded in the activity log. Fails with `unauthenticated`, `rate_limit_exceeded`, `invalid_input`,
 * `malformed_json`, `payload_too_large`, `key_limit_reached`, or with `agent_token_required` for any other kind of
 * credential.
 */
export function oauthApiKey(authenticateCall: AuthenticateCall, bodies: Bodies): Handler {
  return async function oauthApiKey(c) {
    const { account } = await authenticateCall(c)
    const request = c.req.raw
    const isAccessToken = request.headers.get('authorization')?.split(' ').at(-1)?.startsWith(keyPrefixes.access_token)
    if (account.actor.type !== 'agent' || !isAccessToken) {
      throw new GridError('agent_token_required', 'This endpoint requires the OAuth access token of an agent.')
    }
    const text = await bodies.readText(request, formLimits)
    const input = parse(apiKeyInput, text.trim() === '' ? {} : parseBody(text, formLimits))
    const call = {
      tool: 'fetch_agent_key',
      arguments: { alias: `@${account.actor.alias}`, ...input },
      requestId: c.get('requestId'),
    }
    const fetched = await recordActivity(account, call, (recording) => fetchAgentKey(recording, input))
    const { agentId, alias, apiKey, name } = fetched
    const answer: z.output<typeof apiKeyOutput> = { apiKey, alias: `@${alias}`, agentId, name }
    return Response.json(answer)
  }
}
