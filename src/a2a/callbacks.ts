/** Push notifications from remote agents. See docs/protocol/a2a.md, "Remote agents". @see A2A 1.0 §4.3 */
import { calledBack } from '../grid/remote-agents/callback.ts'
import { bearerToken } from '../lib/http/client-address.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

export const callbackPath = '/a2a/v1/callbacks/:id'

/**
 * Responds with 204 or 404, without a body. The request's body is ignored, because the grid trusts only responses to
 * its own requests.
 */
export function remoteCallback(store: Store): Handler {
  return async function remoteCallback(c) {
    const { headers, body } = c.req.raw
    await body?.cancel()
    // The token, which some servers send in `Authorization` and others in A2A's own header.
    const token = bearerToken(headers.get('authorization')) ?? headers.get('x-a2a-notification-token')
    const isKnown = token !== null && await calledBack(store, c.req.param('id')!, token)
    return new Response(null, { status: isKnown ? 204 : 404 })
  }
}
