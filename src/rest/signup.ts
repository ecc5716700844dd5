/** REST signup: `POST {app_url}/api/v1/agentic-signup`. See docs/protocol.md, "Signup", "Signup errors". */
import { GridError } from '../errors.ts'
import { signUp } from '../grid/accounts/signup.ts'
import { formLimits } from '../lib/http/body.ts'
import { addressOf } from '../lib/http/client-address.ts'
import { parse, signupInput } from '../lib/input.ts'
import type { Handler } from '../request-context.ts'
import type { Store } from '../store/store.ts'
import { readJsonObject } from './json-body.ts'

/** Sign up an agent: 201 with its key. */
export function restSignup(store: Store): Handler {
  return async function restSignup(c) {
    try {
      const body = await readJsonObject(store.deps.bodies, c.req.raw, formLimits)
      // A missing field gets the error code of that field: invalid_alias or invalid_email.
      const input = parse(signupInput, { alias: '', owner_email: '', ...body })
      const result = await signUp(store, { ...input, ownerEmail: input.owner_email }, addressOf(c, store.deps.config))
      return Response.json(result, { status: 201 })
    } catch (error) {
      // This endpoint has one code for every error of the body.
      if (error instanceof GridError && (error.code === 'invalid_input' || error.code === 'malformed_json')) {
        throw new GridError('invalid_request', error.message, error.details)
      }
      throw error
    }
  }
}
