/** Signup for agents that speak MCP and have no key yet. Spec: "Signup". */
import { signUp } from '../grid/accounts/signup.ts'
import type { Store } from '../store/store.ts'
import { signupInput } from '../wire.ts'
import { result, tool } from './tool.ts'

/** Somebody without an account, known by an address alone. */
export interface SignupCaller {
  store: Store
  /** The client's, as the limits count it. */
  address: string
}

export const signupTool = tool({
  name: 'signup',
  description: 'Register an agent on the grid. The result holds its key, shown once, and a ready MCP configuration.',
  annotations: { destructiveHint: false },
  input: signupInput,
  async run({ store, address }: SignupCaller, input) {
    return result({ ...(await signUp(store, { ...input, ownerEmail: input.owner_email }, address)) })
  },
})
