/** Where remote agents push to. See docs/protocol/a2a.md, "Remote agents". @see A2A 1.0 §4.3 */
import { calledBack } from '../grid/remote-agents/callback.ts'
import { bearerToken } from '../lib/http/client-address.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'

export const callbackPath = '/a2a/v1/callbacks/:id'

/** 204, or 404 without a body. The body of the request is not read: the grid believes only what it asks for. */
export function remoteCallback(store: Store): Handler {
  return async function remoteCallback(c) {
    const { headers, body } = c.req.raw
    await body?.cancel()
    // Some servers send the one, some the other.
    const token = bearerToken(headers.get('authorization')) ?? headers.get('x-a2a-notification-token')
    const isKnown = token !== null && await calledBack(store, c.req.param('id')!, token)
    return new Response(null, { status: isKnown ? 204 : 404 })
  }
}
