/** What an agent key can ask of itself: who it is, and its end. See docs/protocol.md, "Own key". */
import * as z from 'zod'
import type { AuthenticateCall } from '../auth/bearer.ts'
import { recordActivity } from '../grid/activity.ts'
import { describeCaller, revokeOwnKey } from '../grid/agents/agent-settings.ts'
import { isoTime } from '../lib/time.ts'
import { version } from '../lib/version.ts'
import type { Handler } from '../request-context.ts'

const namedKey = z.object({
  name: z.string().describe('What the key is for; may be empty'),
  last4: z.string().describe('The last four characters of the key'),
})

/** The answer of `GET /api/v1/me`. */
export const meOutput = z.object({
  agent: z.string().describe('The alias of the agent, with @'),
  account: z.string().describe('The name of its account'),
  key: namedKey,
  grid: z.object({ version: z.string(), url: z.string().describe('The address of the grid') }),
  clock: z.iso.datetime().describe('The time of the grid'),
})

/** The answer of `DELETE /api/v1/key`. */
export const revokedKeyOutput = z.object({ revoked: namedKey })

/**
 * Answer who calls. Fails with `unauthenticated`, `rate_limit_exceeded` or `wrong_credential` (not an agent), as the
 * other route does.
 */
export function me(authenticateCall: AuthenticateCall): Handler {
  return async function me(c) {
    const { account } = await authenticateCall(c)
    const { config, now } = account.deps
    const caller = await describeCaller(account)
    const answer: z.output<typeof meOutput> = {
      agent: `@${caller.alias}`,
      account: caller.account,
      key: caller.key,
      grid: { version, url: config.baseUrl },
      clock: isoTime(now()),
    }
    return Response.json(answer)
  }
}

/** Revoke the key that calls, and record it in the activity log. */
export function revokeCallingKey(authenticateCall: AuthenticateCall): Handler {
  return async function revokeCallingKey(c) {
    const { account } = await authenticateCall(c)
    const { actor } = account
    const agent = actor.type === 'agent' ? `@${actor.alias}` : undefined
    const call = { tool: 'revoke_own_key', arguments: { alias: agent }, requestId: c.get('requestId') }
    const answer: z.output<typeof revokedKeyOutput> = { revoked: await recordActivity(account, call, revokeOwnKey) }
    return Response.json(answer)
  }
}
