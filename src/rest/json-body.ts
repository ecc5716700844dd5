/** JSON bodies of the REST endpoints. */
import { GridError } from '../errors.ts'
import { type Bodies, type BodyLimits, mediaType, parseBody } from '../lib/http/body.ts'

/**
 * Read the JSON object in a body. Fails with `unsupported_media_type`, `payload_too_large`, `malformed_json`,
 * `invalid_request` or `unavailable`.
 */
export async function readJsonObject(
  bodies: Bodies,
  request: Request,
  limits: BodyLimits,
): Promise<Record<string, unknown>> {
  if (mediaType(request) !== 'application/json') {
    throw new GridError('unsupported_media_type', 'Send JSON, with Content-Type: application/json.')
  }
  const body = parseBody(await bodies.readText(request, limits), limits)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new GridError('invalid_request', 'The body is not a JSON object.')
  }
  return body as Record<string, unknown>
}

/** The same, for a request that may have no body: then the object is empty. */
export async function readOptionalJson(
  bodies: Bodies,
  request: Request,
  limits: BodyLimits,
): Promise<Record<string, unknown>> {
  const { headers } = request
  const isEmpty = (headers.get('content-length') ?? '0') === '0' && !headers.has('transfer-encoding')
  if (isEmpty && (request.body === null || !headers.has('content-type'))) return {}
  return await readJsonObject(bodies, request, limits)
}
