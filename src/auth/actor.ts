/** Who is calling. An actor is made by `auth/` or a worker, and is written into the activity log as it is. */
import { GridError } from '../errors.ts'

export interface AgentActor {
  type: 'agent'
  agentId: string
  /** Without `@`. */
  alias: string
  credentialId: string
  /** The person who let it in by OAuth; undefined with an agent key. */
  userId?: string
  /** It is known that no trial counts what it sends; without this its trial is looked for. */
  isUnlimited?: boolean
}

export interface AdminActor {
  type: 'admin'
  credentialId: string
  credentialKind: 'admin_key' | 'oauth'
  /** The person behind the credential; null for a key made on the command line. */
  userId: string | null
}

/** A signed-in person on the web. The role is the one of this request: it is read anew for each. */
export interface UserActor {
  type: 'user'
  userId: string
  role: Role
  sessionId: string
}

export interface SystemActor {
  type: 'system'
  /** What the process itself is doing, for example `signup` or `create-account`. */
  job: string
}

export type Actor = AgentActor | AdminActor | UserActor | SystemActor

/** What a person is in an account, the strongest first. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/**
 * What the roles of an account allow. `manage`: agents, channels, skills, guardrails, keys and the team below the
 * owners. `own`: owners and the account itself. `use`: to act for the account's agents. `view`: to look at all of it.
 */
export const permissions = {
  view: ['owner', 'admin', 'member', 'viewer'],
  use: ['owner', 'admin', 'member'],
  manage: ['owner', 'admin'],
  own: ['owner'],
} as const satisfies Record<string, readonly Role[]>

export type Permission = keyof typeof permissions

/** Whether a role allows something. */
export function allows(role: Role, permission: Permission): boolean {
  return (permissions[permission] as readonly Role[]).includes(role)
}

/** The calling agent. Fails with `wrong_credential` for anybody else. */
export function callingAgent(actor: Actor): AgentActor {
  if (actor.type !== 'agent') throw new GridError('wrong_credential', 'Only an agent can do this. Use an agent key.')
  return actor
}

/** The signed-in person. Fails with `wrong_credential` for anybody else. */
export function callingUser(actor: Actor): UserActor {
  if (actor.type !== 'user') throw new GridError('wrong_credential', 'Only a signed-in person can do this.')
  return actor
}

/** Nothing but an admin of the account, or the process itself. Fails with `wrong_credential` or `not_allowed`. */
export function requireAdmin(actor: Actor): void {
  requirePermission(actor, 'manage')
}

/**
 * That the caller may do something in the account. An admin credential may do what `manage` says, an agent nothing,
 * and the process itself everything. Fails with `wrong_credential` or `not_allowed`.
 */
export function requirePermission(actor: Actor, permission: Permission): void {
  if (actor.type === 'system') return
  if (actor.type === 'agent') {
    throw new GridError('wrong_credential', 'Only an admin of the account can do this. Use an admin key.')
  }
  const role = actor.type === 'user' ? actor.role : 'admin'
  if (!allows(role, permission)) throw new GridError('not_allowed', `Only ${whoMay[permission]} can do this.`)
}

const whoMay: Record<Permission, string> = {
  view: 'people of the account',
  use: 'owners, admins and members of the account',
  manage: 'owners and admins of the account',
  own: 'owners of the account',
}
