/** The caller of a verb. The activity log stores an actor's type, user and credential. */
import { GridError } from '../errors.ts'
import { minute } from '../lib/time.ts'

export interface AgentActor {
  type: 'agent'
  agentId: string
  /** The alias without `@`. */
  alias: string
  credentialId: string
  /** The user who authorized the agent over OAuth. Undefined with an agent key. */
  userId?: string
  /** True if the agent is known not to be on trial. Otherwise each send looks up whether the agent is on trial. */
  isUnlimited?: boolean
}

export interface AdminActor {
  type: 'admin'
  credentialId: string
  credentialKind: 'admin_key' | 'oauth'
  /** The user behind the credential. Null for a key created on the command line. */
  userId: string | null
}

/** A signed-in user of the web pages. Every request loads the role again. */
export interface UserActor {
  type: 'user'
  userId: string
  role: Role
  sessionId: string
  /** When the user last proved their identity, in milliseconds since the epoch. */
  confirmedAt?: number | null
}

interface SystemActor {
  type: 'system'
  /** The process's task, for example `signup` or `create-account`. */
  job: string
}

export type Actor = AgentActor | AdminActor | UserActor | SystemActor

/** A signed-in user outside of any account. */
export interface SignedInUser {
  user: { id: string; email: string; emailVerifiedAt: number | null }
  sessionId: string
  /** When the user last proved their identity, in milliseconds since the epoch. */
  confirmedAt?: number | null
  /** The only account that the session can open, because that account's provider signed the user in. */
  onlyAccount?: string | null
  /** The provider identity that started the session. */
  identity?: { issuer: string; subject: string } | null
}

/** How long a proof of identity counts as recent. */
export const confirmedForMs = 10 * minute

/**
 * Requires that the user has recently proved their identity, by signing in or on the confirmation page. Agents, admin
 * credentials and the process itself pass. Fails with `confirmation_required`, or outside an account with
 * `not_allowed`. See docs/people.md, "Signing in".
 */
export function requireConfirmed(actor: Actor | SignedInUser, now: number): void {
  if ('type' in actor && actor.type !== 'user') return
  if (!('type' in actor)) requireWholeSession(actor)
  const { confirmedAt } = actor as UserActor | SignedInUser
  // A future time does not count as recent, because it means that the clock was set back.
  if (confirmedAt != null && now >= confirmedAt && now - confirmedAt < confirmedForMs) return
  throw new GridError('confirmation_required', 'Confirm your identity, and then repeat this.')
}

/**
 * Requires a session that was not started by an account's provider, because the provider's operator could act as any of
 * its users. Fails with `not_allowed`. See docs/people.md, "Single sign-on".
 */
export function requireWholeSession({ onlyAccount }: Pick<SignedInUser, 'onlyAccount'>): void {
  if (onlyAccount == null) return
  throw new GridError(
    'not_allowed',
    'The provider of this account has signed you in, for this account only. ' +
      'Sign out, and sign in with your password, a passkey or an email link to do this.',
  )
}

/** The roles that a member can have in an account, strongest first. */
export const roles = ['owner', 'admin', 'member', 'viewer'] as const
export type Role = (typeof roles)[number]

/**
 * Whether a session can open an account. If the account requires its provider, an owner with a second factor can still
 * open it without the provider. See docs/people.md, "Single sign-on".
 */
export function opensAccount(
  { onlyAccount, user }: { onlyAccount: string | null; user: { hasSecondFactor: boolean } },
  { id, role, requiresProvider }: { id: string; role: Role; requiresProvider: boolean },
): boolean {
  if (onlyAccount !== null) return id === onlyAccount
  return !requiresProvider || (role === 'owner' && user.hasSecondFactor)
}

/**
 * The roles that have each permission. Roles are defined only here.
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

/** Returns the calling agent. Fails with `wrong_credential` for other callers. */
export function callingAgent(actor: Actor): AgentActor {
  if (actor.type !== 'agent') throw new GridError('wrong_credential', 'Only an agent can do this. Use an agent key.')
  return actor
}

/** Returns the calling user. Fails with `wrong_credential` for other callers. */
export function callingUser(actor: Actor): UserActor {
  if (actor.type !== 'user') throw new GridError('wrong_credential', 'Only a signed-in user can do this.')
  return actor
}

/** Returns the id of the reading user. Null for programs. */
export function readingUser(actor: Actor): string | null {
  return actor.type === 'user' ? actor.userId : null
}

/** Requires an admin of the account, or the process itself. Fails with `wrong_credential` or `not_allowed`. */
export function requireAdmin(actor: Actor): void {
  requirePermission(actor, 'manage')
}

/**
 * Requires a permission in the account. An admin credential has the permissions of the role `admin`, an agent has none,
 * and the process itself has all. Fails with `wrong_credential` or `not_allowed`.
 */
export function requirePermission(actor: Actor, permission: Permission): void {
  if (actor.type === 'system') return
  if (actor.type === 'agent') {
    throw new GridError('wrong_credential', 'Only an admin of the account can do this. Use an admin key.')
  }
  const role = actor.type === 'user' ? actor.role : 'admin'
  if (!allows(role, permission)) throw notAllowed(permission)
}

/** Creates the error `not_allowed`, which names the roles with the permission. The message begins with `before`. */
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
