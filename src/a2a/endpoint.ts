/** The A2A JSON-RPC endpoint, versions 0.3 and 1.0 on one URL. See docs/protocol.md, "A2A order of checks". */
import type { AuthenticateCall, IncomingCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { apiLimits, type Bodies, checkDeclaredLength, mediaType, parseBody } from '../lib/http/body.ts'
import type { Handler } from '../request-context.ts'
import type { AccountStore } from '../store/account.ts'
import { a2aError, a2aStatus, asGridError, errorHeaders } from '../wire.ts'
import { authenticateAgent, challenge } from './caller.ts'
import type { Cards } from './cards/cards.ts'
import { extensionUris } from './extension-uris.ts'
import { findMethod } from './methods.ts'
import { activatedExtensions, requestedVersion } from './version.ts'

const mediaTypes = ['application/json', 'application/a2a+json']

/** The id of a request, which its response repeats. */
type RpcId = string | number | null

/**
 * Serves `POST /a2a/v1/grid`. Every request gets a JSON-RPC response, even one without an id.
 * See docs/protocol.md, "A2A", "A2A errors".
 */
export function a2aGrid(authenticateCall: AuthenticateCall, deps: Deps, cards: Cards): Handler {
  const domain = new URL(deps.config.baseUrl).hostname
  const extensions = extensionUris(deps.config)

  return async function a2a(context) {
    const { request, requestId } = context
    const headers: Record<string, string> = {}
    let id: RpcId = null
    try {
      const account = await admit(authenticateCall, context)
      const rpcRequest = await readRequest(deps.bodies, request)
      id = readId(rpcRequest)
      const method = readMethod(rpcRequest)

      const version = requestedVersion(request)
      if (version) headers['A2A-Version'] = version
      const { codec, run } = findMethod(method)
      headers['A2A-Version'] = codec.version
      const activated = activatedExtensions(request, extensions)
      if (activated.length > 0) headers[codec.extensionsHeader] = activated.join(', ')

      const idempotencyKey = request.headers.get('Idempotency-Key') ?? undefined
      const result = await run({ account, codec, method, params: rpcRequest.params, idempotencyKey, cards })
      return Response.json({ jsonrpc: '2.0', id, result }, { headers })
    } catch (error) {
      const gridError = asGridError(error, deps.log, requestId)
      return Response.json({ jsonrpc: '2.0', id, error: a2aError(gridError, domain) }, {
        status: a2aStatus(gridError),
        headers: { ...headers, ...errorHeaders(gridError), ...challenge(gridError) },
      })
    }
  }
}

/**
 * The caller's account, before the body is read. Fails with `payload_too_large` if the request declares so,
 * `unauthenticated`, `rate_limit_exceeded` or `unsupported_media_type`, in this order.
 */
async function admit(authenticateCall: AuthenticateCall, call: IncomingCall): Promise<AccountStore> {
  const { request } = call
  checkDeclaredLength(request, apiLimits)
  const account = await authenticateAgent(authenticateCall, call)
  if (!mediaTypes.includes(mediaType(request))) {
    throw new GridError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.')
  }
  return account
}

interface RpcRequest {
  jsonrpc?: unknown
  id?: unknown
  method?: unknown
  params?: unknown
}

/**
 * Fails with `payload_too_large`, with `malformed_json`, or with `invalid_request` if the body is not a single request.
 */
async function readRequest(bodies: Bodies, request: Request): Promise<RpcRequest> {
  const json = await readJson(bodies, request)
  if (Array.isArray(json)) {
    throw new GridError('invalid_request', 'Batches are not accepted. Send one request at a time.')
  }
  if (typeof json !== 'object' || json === null) {
    throw new GridError('invalid_request', 'The body must be a JSON-RPC 2.0 request object.')
  }
  return json
}

/**
 * Every error of the text is a parse error here, even one of its encoding, depth or number of values. A body that is
 * too large, or that finds no room, is not.
 */
async function readJson(bodies: Bodies, request: Request): Promise<unknown> {
  try {
    return parseBody(await bodies.readText(request, apiLimits), apiLimits)
  } catch (error) {
    if (!(error instanceof GridError) || error.kind !== 'invalid') throw error
    throw new GridError('malformed_json', error.message)
  }
}

/** The id, or null when there is none. Fails with `invalid_request`. */
function readId({ id = null }: RpcRequest): RpcId {
  if (id === null || typeof id === 'string' || typeof id === 'number') return id
  throw new GridError('invalid_request', 'id must be a string, a number or null.', { field: 'id' })
}

function readMethod({ jsonrpc, method }: RpcRequest): string {
  if (jsonrpc !== '2.0') throw new GridError('invalid_request', 'jsonrpc must be "2.0".', { field: 'jsonrpc' })
  if (typeof method === 'string') return method
  throw new GridError('invalid_request', 'method must be a string.', { field: 'method' })
}
