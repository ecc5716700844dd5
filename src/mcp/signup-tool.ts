/** Signup over MCP, for agents that have no key yet. See docs/protocol/signup.md, "Over MCP". */
import { signUp } from '../grid/accounts/signup.ts'
import { signupInput } from '../lib/input.ts'
import type { Store } from '../store/store.ts'
import { tool } from './tool.ts'

/** A caller without a credential. */
export interface SignupCaller {
  store: Store
  /** The client address that the signup limit counts. */
  address: string
}

export const signupTool = tool({
  name: 'signup',
  description: 'Register an agent on the grid. The result holds its key, shown once, and a ready MCP configuration.',
  annotations: { destructiveHint: false },
  input: signupInput,
  async run({ store, address }: SignupCaller, input) {
    return { text: { ...(await signUp(store, { ...input, ownerEmail: input.owner_email }, address)) } }
  },
})
