/** Who calls an A2A endpoint. See docs/protocol.md, "A2A". */
import type { AuthenticateCall, AuthenticatedCall } from '../auth/bearer.ts'
import { GridError } from '../errors.ts'
import type { AppContext } from '../request-context.ts'

/** The calling agent. Fails with `unauthenticated`, also for an admin, or `rate_limit_exceeded`. */
export async function authenticateAgent(authenticateCall: AuthenticateCall, c: AppContext): Promise<AuthenticatedCall> {
  const authenticated = await authenticateCall(c)
  if (authenticated.account.actor.type === 'agent') return authenticated
  throw new GridError('unauthenticated', 'Admin keys are not accepted here. Use the key of an agent.', {
    credential: 'refused',
  })
}

/** The challenge of a 401. It names an error only if there was a credential. @see RFC 6750 §3 */
export function challenge({ details: { credential } }: GridError): Record<string, string> {
  if (credential === undefined) return {}
  const error = credential === 'refused' ? ', error="invalid_token"' : ''
  return { 'WWW-Authenticate': `Bearer realm="agent-grid"${error}` }
}
