/** Who is calling. An actor is made by `auth/` or a worker, and is written into the activity log as it is. */
import { GridError } from '../errors.ts'

export interface AgentActor {
  type: 'agent'
  agentId: string
  /** Without `@`. */
  alias: string
  credentialId: string
}

export interface AdminActor {
  type: 'admin'
  credentialId: string
  credentialKind: 'admin_key' | 'oauth'
  /** The person behind the credential; null for a key made on the command line. */
  userId: string | null
}

export interface SystemActor {
  type: 'system'
  /** What the process itself is doing, for example `signup` or `create-account`. */
  job: string
}

export type Actor = AgentActor | AdminActor | SystemActor

/** The calling agent. Fails with `wrong_credential` for anybody else. */
export function callingAgent(actor: Actor): AgentActor {
  if (actor.type !== 'agent') throw new GridError('wrong_credential', 'Only an agent can do this. Use an agent key.')
  return actor
}

/** Nothing but an admin of the account, or the process itself. Fails with `wrong_credential`. */
export function requireAdmin(actor: Actor): void {
  if (actor.type === 'agent') {
    throw new GridError('wrong_credential', 'Only an admin of the account can do this. Use an admin key.')
  }
}
