/** What the OAuth endpoints for programs have in common: JSON answers, open to every origin, errors in OAuth's words. */
import type { Log } from '../deps.ts'
import { corsHeaders, preflight } from '../lib/cors.ts'
import { asGridError, oauthError } from '../wire.ts'

type Answer = (request: Request, address: string, requestId: string) => Promise<Response>

/** Serves `POST`; `address` is the caller's, as limits count it. */
export function oauthEndpoint(log: Log, answer: Answer) {
  return async function endpoint(request: Request, requestId: string, address: string): Promise<Response> {
    if (request.method === 'OPTIONS') return preflight('POST, OPTIONS')
    const response = await answer(request, address, requestId).catch((error) => {
      const refused = oauthError(asGridError(error, log, requestId))
      // @see RFC 6749 §5.2
      const triedHeader = refused.status === 401 && request.headers.has('authorization')
      if (triedHeader) refused.headers.set('WWW-Authenticate', 'Basic realm="agent-grid"')
      return refused
    })
    for (const [name, value] of Object.entries(corsHeaders)) response.headers.set(name, value)
    response.headers.set('Cache-Control', 'no-store')
    return response
  }
}
