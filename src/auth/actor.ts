/** The caller of a verb. The activity log stores the type, user and credential of an actor. */
import { GridError } from '../errors.ts'
import { minute } from '../lib/time.ts'

export interface AgentActor {
  type: 'agent'
  agentId: string
  /** Without `@`. */
  alias: string
  credentialId: string
  /** The user who authorized it by OAuth; undefined with an agent key. */
  userId?: string
  /** True when the agent is known to have no trial. Otherwise each send looks for one. */
  isUnlimited?: boolean
}

export interface AdminActor {
  type: 'admin'
  credentialId: string
  credentialKind: 'admin_key' | 'oauth'
  /** The user behind the credential; null for a key made on the command line. */
  userId: string | null
}

/** A signed-in user of the web pages. The role is read again for every request. */
export interface UserActor {
  type: 'user'
  userId: string
  role: Role
  sessionId: string
  /** When the user last proved who they are, in milliseconds since the epoch. */
  confirmedAt?: number | null
}

interface SystemActor {
  type: 'system'
  /** The task of the process, for example `signup` or `create-account`. */
  job: string
}

export type Actor = AgentActor | AdminActor | UserActor | SystemActor

/** A signed-in user, outside of any account. */
export interface SignedInUser {
  user: { id: string; email: string; emailVerifiedAt: number | null }
  sessionId: string
  /** When the user last proved who they are, in milliseconds since the epoch. */
  confirmedAt?: number | null
  /** The only account that the session opens: its provider has signed the user in. */
  onlyAccount?: string | null
  /** The identity at a provider that has begun the session. */
  identity?: { issuer: string; subject: string } | null
}

/** How long a proof of who the user is allows the changes that need a fresh one. */
export const confirmedForMs = 10 * minute

/**
 * Require that the user has proved recently who they are: by signing in, or on the page for it. Other callers pass. Fails
 * with `confirmation_required`. See docs/people.md, "Signing in".
 */
export function requireConfirmed(actor: Actor | SignedInUser, now: number): void {
  if ('type' in actor && actor.type !== 'user') return
  if (!('type' in actor)) requireWholeSession(actor)
  const { confirmedAt } = actor as UserActor | SignedInUser
  // A time in the future is not fresh either: the clock was set back.
  if (confirmedAt != null && now >= confirmedAt && now - confirmedAt < confirmedForMs) return
  throw new GridError('confirmation_required', 'Confirm that it is you, and then repeat this.')
}

/**
 * Require a session that was not started by an account's provider: whoever runs it could act as any of its users.
 * Fails with `not_allowed`. See docs/people.md, "Single sign-on".
 */
export function requireWholeSession({ onlyAccount }: Pick<SignedInUser, 'onlyAccount'>): void {
  if (onlyAccount == null) return
  throw new GridError(
    'not_allowed',
    'The provider of this account has signed you in, for this account only. ' +
      'Sign out, and sign in with your password, a passkey or an email link to do this.',
  )
}

/** The roles of a member in an account, strongest first. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/**
 * Whether a session opens an account. Where the provider is required, an owner with a second factor still gets in without
 * it. See docs/people.md, "Single sign-on".
 */
export function opensAccount(
  { onlyAccount, user }: { onlyAccount: string | null; user: { hasSecondFactor: boolean } },
  { id, role, requiresProvider }: { id: string; role: Role; requiresProvider: boolean },
): boolean {
  if (onlyAccount !== null) return id === onlyAccount
  return !requiresProvider || (role === 'owner' && user.hasSecondFactor)
}

/**
 * The roles that have each permission. No other place lists roles.
 *
 * - `view`: read everything in the account.
 * - `use`: act as the account's agents.
 * - `manage`: change agents, channels, skills, guardrails, keys, and members other than owners.
 * - `own`: change owners and the account itself.
 *
 * See docs/people.md, "Roles".
 */
export const permissions = {
  view: ['owner', 'admin', 'member', 'viewer'],
  use: ['owner', 'admin', 'member'],
  manage: ['owner', 'admin'],
  own: ['owner'],
} as const satisfies Record<string, readonly Role[]>

export type Permission = keyof typeof permissions

export function allows(role: Role, permission: Permission): boolean {
  return (permissions[permission] as readonly Role[]).includes(role)
}

/** Fails with `wrong_credential` for other callers. */
export function callingAgent(actor: Actor): AgentActor {
  if (actor.type !== 'agent') throw new GridError('wrong_credential', 'Only an agent can do this. Use an agent key.')
  return actor
}

/** Fails with `wrong_credential` for other callers. */
export function callingUser(actor: Actor): UserActor {
  if (actor.type !== 'user') throw new GridError('wrong_credential', 'Only a signed-in user can do this.')
  return actor
}

/** Whose reading it is: the id of the signed-in user; null for programs. */
export function readingUser(actor: Actor): string | null {
  return actor.type === 'user' ? actor.userId : null
}

/** Require an admin of the account, or the process itself. Fails with `wrong_credential` or `not_allowed`. */
export function requireAdmin(actor: Actor): void {
  requirePermission(actor, 'manage')
}

/**
 * Require a permission in the account. An admin credential has the permissions of the role `admin`, an agent has
 * none, and the process itself has all. Fails with `wrong_credential` or `not_allowed`.
 */
export function requirePermission(actor: Actor, permission: Permission): void {
  if (actor.type === 'system') return
  if (actor.type === 'agent') {
    throw new GridError('wrong_credential', 'Only an admin of the account can do this. Use an admin key.')
  }
  const role = actor.type === 'user' ? actor.role : 'admin'
  if (!allows(role, permission)) throw notAllowed(permission)
}

/** `not_allowed`, saying who has the permission. `before` is a sentence that comes first. */
export function notAllowed(permission: Permission, before = ''): GridError {
  const message = `${before && `${before} `}Only ${allowedCallers[permission]} can do this.`
  return new GridError('not_allowed', message, { allowedRoles: permissions[permission] })
}

const allowedCallers: Record<Permission, string> = {
  view: 'members of the account',
  use: 'owners, admins and members (not viewers) of the account',
  manage: 'owners and admins of the account',
  own: 'owners of the account',
}
