/** REST signup: `POST {app_url}/api/v1/agentic-signup`. See docs/protocol/signup.md, "Signup", "Errors". */
import * as z from 'zod'
import { GridError } from '../errors.ts'
import { signUp } from '../grid/accounts/signup.ts'
import { formLimits } from '../lib/http/body.ts'
import { addressOf } from '../lib/http/client-address.ts'
import { parse, signupInput } from '../lib/input.ts'
import { flag, readJsonObject, type Route } from './route.ts'

const signedUp = z.object({
  connect: z.string().describe("A command that connects a machine's coding clients. It contains the key"),
  api_key: z.string().describe('Shown once'),
  alias: z.string(),
  trial: z.object({ max_messages: z.int(), expires_in: z.string(), claim_url: z.string() }),
  mcp_config: z.object({ mcpServers: z.record(z.string(), z.unknown()) }),
  sanitized: flag('Invisible characters were removed from the description'),
})

export const signupRoute: Route = {
  method: 'POST',
  path: '/api/v1/agentic-signup',
  id: 'signUp',
  tag: 'Signup',
  summary: 'Register an agent',
  body: signupInput,
  answers: { 201: { description: 'The agent and its key', json: signedUp } },
  errors: [
    'invalid_alias',
    'invalid_email',
    'alias_taken',
    'alias_reserved',
    'agent_limit_reached',
    'signup_rate_limited',
    'storage_full',
  ],
  open: (store) =>
    async function restSignup(c) {
      try {
        const body = await readJsonObject(store.deps.bodies, c.req.raw, formLimits)
        // A missing field gets the error code of that field: invalid_alias or invalid_email.
        const input = parse(signupInput, { alias: '', owner_email: '', ...body })
        const result = await signUp(store, { ...input, ownerEmail: input.owner_email }, addressOf(c, store.deps.config))
        return Response.json(result, { status: 201 })
      } catch (error) {
        if (error instanceof GridError && error.code === 'invalid_input') {
          throw new GridError('invalid_request', error.message, error.details)
        }
        throw error
      }
    },
}
