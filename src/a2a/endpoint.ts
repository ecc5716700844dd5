/** The A2A JSON-RPC endpoint, versions 0.3 and 1.0 on one URL. The order of checks is that of a2a.md, section 4. */
import type { Bearer } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { apiLimits, mediaType, parseBody, readText } from '../lib/body.ts'
import type { AccountStore } from '../store/account.ts'
import { a2aError, a2aStatus, asGridError, errorHeaders } from '../wire.ts'
import { gridRoutingUri } from './grid-routing.ts'
import { findMethod } from './methods.ts'
import { activatedExtensions, requestedVersion } from './version.ts'

const mediaTypes = ['application/json', 'application/a2a+json']

/** What a request's answer repeats: text, number or null. */
type RpcId = string | number | null

/**
 * Serves `POST /a2a/v1/grid`. Every request is answered with a JSON-RPC response,
 * also one without an id. Spec: "A2A `message/send`", "A2A errors".
 */
export function a2aGrid(authenticate: Bearer, deps: Deps): (request: Request, requestId: string) => Promise<Response> {
  const domain = new URL(deps.config.baseUrl).hostname
  const extensions = [gridRoutingUri(deps.config)]

  return async function a2a(request, requestId) {
    const headers: Record<string, string> = {}
    let id: RpcId = null
    try {
      const { account, body } = await admit(authenticate, request)
      const frame = await readFrame(body)
      id = readId(frame)
      const method = readMethod(frame)

      const version = requestedVersion(request)
      if (version) headers['A2A-Version'] = version
      const { codec, run } = findMethod(method)
      headers['A2A-Version'] = codec.version
      const activated = activatedExtensions(request, extensions)
      if (activated.length > 0) headers[codec.extensionsHeader] = activated.join(', ')

      const idempotencyKey = request.headers.get('Idempotency-Key') ?? undefined
      const result = await run({ account, codec, method, params: frame.params, idempotencyKey })
      return Response.json({ jsonrpc: '2.0', id, result }, { headers })
    } catch (error) {
      const known = asGridError(error, deps.log, requestId)
      return Response.json({ jsonrpc: '2.0', id, error: a2aError(known, domain) }, {
        status: a2aStatus(known),
        headers: { ...headers, ...errorHeaders(known), ...challenge(known) },
      })
    }
  }
}

/**
 * The caller, and the body as text yet to be looked at.
 * Fails with `payload_too_large`, `unauthenticated` or `unsupported_media_type`.
 */
async function admit(
  authenticate: Bearer,
  request: Request,
): Promise<{ account: AccountStore; body: Promise<string> }> {
  const body = readText(request, apiLimits)
  const [read, caller] = await Promise.allSettled([body, authenticate(request.headers.get('authorization'))])
  if (read.status === 'rejected' && read.reason?.code === 'payload_too_large') throw read.reason
  if (caller.status === 'rejected') throw caller.reason
  const account = caller.value
  if (account.actor.type !== 'agent') {
    throw new GridError('unauthenticated', 'An admin key is not taken here. Use the key of an agent.', {
      credential: 'refused',
    })
  }
  if (!mediaTypes.includes(mediaType(request))) {
    throw new GridError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.')
  }
  return { account, body }
}

interface Frame {
  jsonrpc?: unknown
  id?: unknown
  method?: unknown
  params?: unknown
}

/** Fails with `malformed_json`, or `invalid_request` when it is no single request. */
async function readFrame(body: Promise<string>): Promise<Frame> {
  const frame = await readJson(body)
  if (Array.isArray(frame)) throw new GridError('invalid_request', 'Batches are not taken. Send one request at a time.')
  if (typeof frame !== 'object' || frame === null) {
    throw new GridError('invalid_request', 'The body must be a JSON-RPC 2.0 request object.')
  }
  return frame
}

/** Whatever keeps the text from being read, also its size and depth, is a parse error here. */
async function readJson(body: Promise<string>): Promise<unknown> {
  try {
    return parseBody(await body, apiLimits)
  } catch (error) {
    throw error instanceof GridError ? new GridError('malformed_json', error.message) : error
  }
}

/** Also an absent id is answered, as null. Fails with `invalid_request`. */
function readId({ id = null }: Frame): RpcId {
  if (id === null || typeof id === 'string' || typeof id === 'number') return id
  throw new GridError('invalid_request', 'id must be a string, a number or null.', { field: 'id' })
}

function readMethod({ jsonrpc, method }: Frame): string {
  if (jsonrpc !== '2.0') throw new GridError('invalid_request', 'jsonrpc must be "2.0".', { field: 'jsonrpc' })
  if (typeof method === 'string') return method
  throw new GridError('invalid_request', 'method must be a string.', { field: 'method' })
}

/** @see RFC 6750 §3: the error is named only when there was a credential. */
function challenge({ details: { credential } }: GridError): Record<string, string> {
  if (credential === undefined) return {}
  const error = credential === 'refused' ? ', error="invalid_token"' : ''
  return { 'WWW-Authenticate': `Bearer realm="agent-grid"${error}` }
}
