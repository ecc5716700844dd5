/** The OAuth endpoints for clients: JSON responses, and errors in the format of RFC 6749. */
import type { Log } from '../lib/log.ts'
import type { Handler, RequestContext } from '../request-context.ts'
import { asGridError, oauthError } from '../wire.ts'

/** Wraps the handler of an endpoint: converts errors and forbids caching. */
export function oauthEndpoint(log: Log, handle: (context: RequestContext) => Promise<Response>): Handler {
  return async function endpoint(context) {
    const { request, requestId } = context
    const response = await handle(context).catch((error) => {
      const failure = oauthError(asGridError(error, log, requestId))
      // @see RFC 6749 §5.2
      const usedHeader = failure.status === 401 && request.headers.has('authorization')
      if (usedHeader) failure.headers.set('WWW-Authenticate', 'Basic realm="agent-grid"')
      return failure
    })
    response.headers.set('Cache-Control', 'no-store')
    return response
  }
}
