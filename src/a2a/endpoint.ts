/** A2A's JSON-RPC binding, versions 0.3 and 1.0 on the same URL. See docs/protocol/a2a.md, "Errors". */
import type { Cards } from './cards/cards.ts'
import { EventStream, streamResponse } from './method-call.ts'
import { findMethod, runMethod } from './methods.ts'
import { admit, challenge, limitsOf, mediaTypes, requestedVersion, wrongMediaType } from './request.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { type Bodies, type BodyLimits, mediaType, parseCall } from '../lib/http/body.ts'
import { event, streamHeaders } from '../lib/http/event-stream.ts'
import type { Handler } from '../request-context.ts'
import { a2aError, a2aStatus, errorHeaders } from '../wire.ts'

/** @see JSON-RPC 2.0 §4 */
type RpcId = string | number | null

interface RpcRequest {
  jsonrpc?: unknown
  id?: unknown
  method?: unknown
  params?: unknown
}

/** Methods whose responses 0.3 clients parse as an event stream, even errors, unless the HTTP status is an error. */
const streams03 = ['message/stream', 'tasks/resubscribe']

/**
 * Serves POST on the shared endpoint and on an agent's endpoint. Every request gets a JSON-RPC response, even one
 * without an id. See docs/protocol/a2a.md, "A2A", "Errors".
 */
export function a2aGrid(authenticateCall: AuthenticateCall, deps: Deps, cards: Cards): Handler {
  const { config, bodies } = deps
  const domain = new URL(config.baseUrl).hostname

  return async function a2a(c) {
    const request = c.req.raw
    const headers: Record<string, string> = {}
    let id: RpcId = null
    let method = ''
    try {
      const aliases = [c.req.param('alias')].filter((alias) => alias !== undefined)
      const admitted = await admit(authenticateCall, config, c, aliases)
      if (!mediaTypes.includes(mediaType(request))) throw wrongMediaType()
      const { value, refused } = await readJson(bodies, request, limitsOf(aliases))
      if (refused?.details.field === 'id') throw refused
      const rpcRequest = asRequest(value)
      id = readId(rpcRequest)
      if (refused) throw refused
      method = readMethod(rpcRequest)

      const version = requestedVersion(request)
      if (version) headers['A2A-Version'] = version
      const { codec, run } = findMethod(method)
      c.get('trace').tool = method
      headers['A2A-Version'] = codec.version
      if (admitted.extensions.length > 0) headers[codec.extensionsHeader] = admitted.extensions.join(', ')

      const result = await runMethod(run, admitted, {
        cards: cards.ofCall(request),
        codec,
        method,
        params: rpcRequest.params,
      })
      return result instanceof EventStream
        ? streamResponse(result, admitted.connection, headers, (result) => ({ jsonrpc: '2.0', id, result }))
        : Response.json({ jsonrpc: '2.0', id, result }, { headers })
    } catch (error) {
      const gridError = c.get('trace').refusal(error)
      const status = a2aStatus(gridError)
      const answer = { jsonrpc: '2.0', id, error: a2aError(gridError, domain) }
      if (status === 200 && streams03.includes(method)) {
        return new Response(event(JSON.stringify(answer)), { headers: { ...headers, ...streamHeaders } })
      }
      return Response.json(answer, {
        status,
        headers: { ...headers, ...errorHeaders(gridError), ...challenge(gridError) },
      })
    }
  }
}

/** Fails with `invalid_request` if the body is not a single request. */
function asRequest(json: unknown): RpcRequest {
  if (Array.isArray(json)) {
    throw new GridError('invalid_request', 'Batches are not accepted. Send one request at a time.')
  }
  if (typeof json !== 'object' || json === null) {
    throw new GridError('invalid_request', 'The body must be a JSON-RPC 2.0 request object.')
  }
  return json
}

/** Fails with `payload_too_large` or `malformed_json`. */
async function readJson(bodies: Bodies, request: Request, limits: BodyLimits): Promise<ReturnType<typeof parseCall>> {
  let text: string
  try {
    text = await bodies.readText(request, limits)
  } catch (error) {
    if (!(error instanceof GridError) || error.kind !== 'invalid') throw error
    throw new GridError('malformed_json', error.message)
  }
  return parseCall(text, limits)
}

/** Returns the id for the response, which is null if the request has none. */
function readId({ id }: RpcRequest): RpcId {
  if (id === undefined) return null
  if (typeof id === 'string' || Number.isSafeInteger(id)) return id as RpcId
  throw new GridError('invalid_request', 'id must be a string or a whole number.', { field: 'id' })
}

function readMethod({ jsonrpc, method }: RpcRequest): string {
  if (jsonrpc !== '2.0') throw new GridError('invalid_request', 'jsonrpc must be "2.0".', { field: 'jsonrpc' })
  if (typeof method === 'string') return method
  throw new GridError('invalid_request', 'method must be a string.', { field: 'method' })
}
