/** The envelope of a JSON-RPC request. @see JSON-RPC 2.0 §4 */
import { GridError } from '../errors.ts'
import { type Bodies, type BodyLimits, parseBody } from '../lib/http/body.ts'

/** The id of a request, which its response repeats. */
export type RpcId = string | number | null

interface RpcRequest {
  jsonrpc?: unknown
  id?: unknown
  method?: unknown
  params?: unknown
}

/**
 * Fails with `payload_too_large`, with `malformed_json`, or with `invalid_request` if the body is not a single request.
 */
export async function readRequest(bodies: Bodies, request: Request, limits: BodyLimits): Promise<RpcRequest> {
  const json = await readJson(bodies, request, limits)
  if (Array.isArray(json)) {
    throw new GridError('invalid_request', 'Batches are not accepted. Send one request at a time.')
  }
  if (typeof json !== 'object' || json === null) {
    throw new GridError('invalid_request', 'The body must be a JSON-RPC 2.0 request object.')
  }
  return json
}

/** A body that is no text is a parse error here. One that is too large, or that finds no room, is not. */
async function readJson(bodies: Bodies, request: Request, limits: BodyLimits): Promise<unknown> {
  let text: string
  try {
    text = await bodies.readText(request, limits)
  } catch (error) {
    if (!(error instanceof GridError) || error.kind !== 'invalid') throw error
    throw new GridError('malformed_json', error.message)
  }
  return parseBody(text, limits)
}

/** The id, or null when there is none. Fails with `invalid_request`. */
export function readId({ id = null }: RpcRequest): RpcId {
  if (id === null || typeof id === 'string' || typeof id === 'number') return id
  throw new GridError('invalid_request', 'id must be a string, a number or null.', { field: 'id' })
}

export function readMethod({ jsonrpc, method }: RpcRequest): string {
  if (jsonrpc !== '2.0') throw new GridError('invalid_request', 'jsonrpc must be "2.0".', { field: 'jsonrpc' })
  if (typeof method === 'string') return method
  throw new GridError('invalid_request', 'method must be a string.', { field: 'method' })
}
