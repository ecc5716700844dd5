/** The OAuth endpoints for clients: JSON responses, and errors in the format of RFC 6749. */
import type { Log } from '../lib/log.ts'
import type { AppContext, Handler } from '../request-context.ts'
import { asGridError, oauthError } from '../wire.ts'

/** Wraps the handler of an endpoint: converts errors and forbids caching. */
export function oauthEndpoint(log: Log, handle: (c: AppContext) => Promise<Response>): Handler {
  return async function endpoint(c) {
    const response = await handle(c).catch((error) => {
      const failure = oauthError(asGridError(error, log, c.get('requestId')))
      // @see RFC 6749 §5.2
      const usedHeader = failure.status === 401 && c.req.raw.headers.has('authorization')
      if (usedHeader) failure.headers.set('WWW-Authenticate', 'Basic realm="agent-grid"')
      return failure
    })
    response.headers.set('Cache-Control', 'no-store')
    return response
  }
}
