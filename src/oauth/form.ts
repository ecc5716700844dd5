/** Parses the form bodies of the OAuth endpoints. @see RFC 6749 §3.2 */
import { GridError } from '../errors.ts'
import { isObject } from '../lib/given-arguments.ts'
import { type Bodies, formLimits, mediaType, parseBody } from '../lib/http/body.ts'
import type { AppContext, Handler } from '../request-context.ts'
import { oauthError } from '../wire.ts'

/**
 * Reads the fields of a form. Also accepts a JSON object, because some clients send one. Fails with `invalid_request`
 * for other content types and repeated fields, and with `payload_too_large`.
 */
export async function readOAuthForm(bodies: Bodies, request: Request): Promise<URLSearchParams> {
  if (mediaType(request) === 'application/json') {
    return formOf(parseBody(await bodies.readText(request, formLimits), formLimits))
  }
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new GridError('invalid_request', 'Send a form: Content-Type application/x-www-form-urlencoded.')
  }
  const form = new URLSearchParams(await bodies.readText(request, formLimits))
  rejectRepeatedParameters(form)
  return form
}

function formOf(json: unknown): URLSearchParams {
  const fields = isObject(json) ? Object.entries(json).filter(([, value]) => value !== null) : undefined
  if (!fields?.every((field): field is [string, string] => typeof field[1] === 'string')) {
    throw new GridError('invalid_request', 'Send a form, or a JSON object of texts.')
  }
  return new URLSearchParams(fields)
}

/** Refuses repeated parameters, except `resource` (RFC 8707 §2). Fails with `invalid_request`. @see RFC 6749 §3.1 */
export function rejectRepeatedParameters(parameters: URLSearchParams): void {
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    // The message omits the parameter's name, because it is untrusted text.
    if (name !== 'resource' && seen.has(name)) throw new GridError('invalid_request', 'A parameter was sent twice.')
    seen.add(name)
  }
}

/** Returns a parameter's value. An empty value counts as missing. @see RFC 6749 §3.1 */
export function parameter(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) || undefined
}

/** Wraps an endpoint's handler. Converts errors to OAuth responses, and forbids caching. */
export function oauthEndpoint(handle: (c: AppContext) => Promise<Response>): Handler {
  return async function endpoint(c) {
    const response = await handle(c).catch((error) => {
      const failure = oauthError(c.get('trace').refusal(error))
      // @see RFC 6749 §5.2
      const usedHeader = failure.status === 401 && c.req.raw.headers.has('authorization')
      if (usedHeader) failure.headers.set('WWW-Authenticate', 'Basic realm="agent-grid"')
      return failure
    })
    response.headers.set('Cache-Control', 'no-store')
    return response
  }
}
