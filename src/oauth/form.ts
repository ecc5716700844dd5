/** Form bodies of the OAuth endpoints. @see RFC 6749 §3.2 */
import { GridError } from '../errors.ts'
import { formLimits, mediaType, readText } from '../lib/body.ts'

/** The fields of a form. Fails with `invalid_request` when it is none, or names a field twice, and `payload_too_large`. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (mediaType(request) !== 'application/x-www-form-urlencoded') {
    throw new GridError('invalid_request', 'Send a form: Content-Type application/x-www-form-urlencoded.')
  }
  const form = new URLSearchParams(await readText(request, formLimits))
  refuseRepeats(form)
  return form
}

/** Each parameter stands once, but `resource` (RFC 8707 §2). Fails with `invalid_request`. @see RFC 6749 §3.1 */
export function refuseRepeats(parameters: URLSearchParams): void {
  const seen = new Set<string>()
  for (const name of parameters.keys()) {
    // Not by its name, which is the sender's own text.
    if (name !== 'resource' && seen.has(name)) throw new GridError('invalid_request', 'A parameter was sent twice.')
    seen.add(name)
  }
}

/** A parameter; what is empty was not sent. @see RFC 6749 §3.1 */
export function parameter(parameters: URLSearchParams, name: string): string | undefined {
  return parameters.get(name) || undefined
}
