/** The JSON-RPC binding of A2A, versions 0.3 and 1.0 on one URL. See docs/protocol.md, "A2A order of checks". */
import type { Cards } from './cards/cards.ts'
import { EventStream, streamResponse } from './method-call.ts'
import { findMethod } from './methods.ts'
import { challenge, requestedVersion } from './caller.ts'
import { admit, limitsOf, mediaTypes } from './request.ts'
import { readId, readMethod, readRequest, type RpcId } from './rpc-request.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { mediaType } from '../lib/http/body.ts'
import type { Handler } from '../request-context.ts'
import { a2aError, a2aStatus, asGridError, errorHeaders } from '../wire.ts'

/**
 * Serves the POST of an endpoint: the shared one, or that of the agent that the path names. Every request gets a JSON-RPC
 * response, even one without an id. See docs/protocol.md, "A2A", "A2A errors".
 */
export function a2aGrid(authenticateCall: AuthenticateCall, deps: Deps, cards: Cards): Handler {
  const { config, bodies, log } = deps
  const domain = new URL(config.baseUrl).hostname

  return async function a2a(c) {
    const request = c.req.raw
    const headers: Record<string, string> = {}
    let id: RpcId = null
    try {
      const aliases = [c.req.param('alias')].filter((alias) => alias !== undefined)
      const admitted = await admit(authenticateCall, config, c, aliases)
      if (!mediaTypes.includes(mediaType(request))) {
        throw new GridError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.')
      }
      const rpcRequest = await readRequest(bodies, request, limitsOf(aliases))
      id = readId(rpcRequest)
      const method = readMethod(rpcRequest)

      const version = requestedVersion(request)
      if (version) headers['A2A-Version'] = version
      const { codec, run } = findMethod(method)
      headers['A2A-Version'] = codec.version
      if (admitted.extensions.length > 0) headers[codec.extensionsHeader] = admitted.extensions.join(', ')

      const result = await run({ ...admitted, cards, codec, method, params: rpcRequest.params })
      return result instanceof EventStream
        ? streamResponse(result, admitted.connection, headers, (result) => ({ jsonrpc: '2.0', id, result }))
        : Response.json({ jsonrpc: '2.0', id, result }, { headers })
    } catch (error) {
      const gridError = asGridError(error, log, c.get('requestId'))
      return Response.json({ jsonrpc: '2.0', id, error: a2aError(gridError, domain) }, {
        status: a2aStatus(gridError),
        headers: { ...headers, ...errorHeaders(gridError), ...challenge(gridError) },
      })
    }
  }
}
