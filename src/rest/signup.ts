/** REST signup: `POST {app_url}/api/v1/agentic-signup`. Spec: "Signup", "Signup errors". */
import { GridError } from '../errors.ts'
import { signUp } from '../grid/accounts/signup.ts'
import { formLimits, mediaType, parseBody, readText } from '../lib/body.ts'
import type { Store } from '../store/store.ts'
import { parse, signupInput } from '../wire.ts'

/** Register an agent: 201 with its key. `address` is the client's, as the limits count it. */
export async function restSignup(store: Store, request: Request, address: string): Promise<Response> {
  try {
    const input = parse(signupInput, await readFields(request))
    const result = await signUp(store, { ...input, ownerEmail: input.owner_email }, address)
    return Response.json(result, { status: 201 })
  } catch (error) {
    // Here the specification has one code for every fault of the body.
    if (error instanceof GridError && (error.code === 'invalid_input' || error.code === 'malformed_json')) {
      throw new GridError('invalid_request', error.message, error.details)
    }
    throw error
  }
}

async function readFields(request: Request): Promise<Record<string, unknown>> {
  if (mediaType(request) !== 'application/json') {
    throw new GridError('unsupported_media_type', 'Send the signup as JSON, with Content-Type: application/json.')
  }
  const body = parseBody(await readText(request, formLimits), formLimits)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new GridError('invalid_request', 'The body is not a JSON object.')
  }
  // What is missing is answered in the specification's own words: invalid_alias, invalid_email.
  return { alias: '', owner_email: '', ...body }
}
