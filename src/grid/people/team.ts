/** Members of an account, which always has an owner. See docs/people.md, "Roles". */
import { allows, callingUser, type Permission, requireConfirmed, type Role, roles } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { AccountMember } from '../../store/account/team.ts'
import type { Statement } from '../../store/sql.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { endPersonAlias } from './person-aliases.ts'

/** Returns the roles that a member with `role` may assign and remove: owners all, admins all except `owner`. */
export function assignableRoles(role: Role): readonly Role[] {
  if (role === 'owner') return roles
  return allows(role, 'manage') ? roles.filter((assigned) => assigned !== 'owner') : []
}

/**
 * Changes a member's role. Whatever the new role does not permit ends: admin keys that the member created, their alias,
 * OAuth grants, fetched agent keys, and invitations to roles that they may no longer assign. `isByClaim`: the account's
 * provider set the role. Fails with `confirmation_required` (a new owner), `member_not_found`, `invalid_input` or
 * `last_owner`.
 */
export async function setMemberRole(
  account: AccountStore,
  input: { userId: string; role: string; isByClaim?: boolean },
): Promise<{ userId: string; role: Role }> {
  const role = checkRole(input.role)
  return await retryOnConflict(async () => {
    const caller = await authorize(account, 'manage')
    const member = await findMember(account, input.userId)
    requireAssignable(caller.role, [member.role, role])
    if (role === 'owner') requireConfirmed(account.actor, account.deps.now())
    account.changed({ role: member.role }, { role })
    await account.write([
      ...caller.precondition,
      ...await roleChangePreconditions(account, member, role),
      account.change.team.setRole(member.userId, role, input.isByClaim),
      ...await revokeLostRights(account, member.userId, role),
    ])
    return { userId: member.userId, role }
  })
}

/**
 * Removes a member from the account. Their alias, admin keys, invitations and OAuth grants end, and so do invitations
 * to their address. The account's provider does not let them in again unless an owner allows it.
 */
export async function removeMember(account: AccountStore, userId: string): Promise<{ userId: string }> {
  return await retryOnConflict(async () => {
    const caller = await authorize(account, 'manage')
    const member = await findMember(account, userId)
    requireAssignable(caller.role, [member.role])
    const { team } = account.change
    const at = account.deps.now()
    const isOther = account.actor.type !== 'user' || account.actor.userId !== userId
    await account.write([
      ...caller.precondition,
      ...await removalStatements(account, member),
      ...(isOther
        ? [team.keepOut(userId, at), team.endInvitationsFor(member.email, at)]
        : keepViewerOut(account, member)),
    ])
    return { userId }
  })
}

/** Lets members sign in without the account's provider, which is needed while the provider is down. */
export async function stopRequiringProvider(account: AccountStore): Promise<void> {
  await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, account.deps.now())
    await account.write([...precondition, account.change.team.stopRequiringProvider()])
  })
}

/**
 * Leaves the account. The caller's alias, admin keys, invitations and OAuth grants end. The only member may leave an
 * account without agents. Fails with `last_owner`.
 */
export async function leaveAccount(account: AccountStore): Promise<void> {
  const { userId } = callingUser(account.actor)
  await retryOnConflict(async () => {
    const member = await findMember(account, userId)
    await account.write([...await removalStatements(account, member), ...keepViewerOut(account, member)])
  })
}

/** Makes another member an owner, and the caller an admin. */
export async function transferOwnership(account: AccountStore, userId: string): Promise<{ userId: string }> {
  const caller = callingUser(account.actor)
  const { team } = account.change
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(caller, account.deps.now())
    const member = await findMember(account, userId)
    if (member.role === 'owner') {
      throw invalidInput('This member is already an owner.', 'member')
    }
    await account.write([
      ...precondition,
      team.requireRole(userId, [member.role]),
      team.setRole(userId, 'owner'),
      team.setRole(caller.userId, 'admin'),
      ...await revokeLostRights(account, caller.userId, 'admin'),
    ])
    return { userId }
  })
}

export function checkRole(text: string): Role {
  const role = roles.find((known) => known === text)
  if (!role) throw invalidInput(`A role is one of ${roles.join(', ')}.`, 'role')
  return role
}

/** Requires that a member with `role` may assign and remove `others`. */
export function requireAssignable(role: Role, others: Role[]): void {
  if (others.every((other) => assignableRoles(role).includes(other))) return
  throw new GridError('not_allowed', 'Only owners of the account can appoint owners or change their roles.', {
    allowedRoles: ['owner'],
  })
}

async function findMember(account: AccountStore, userId: string): Promise<AccountMember> {
  const member = await account.read.team.member(userId)
  if (!member) throw new GridError('member_not_found', 'This account has no member with that id.', { field: 'member' })
  return member
}

async function removalStatements(account: AccountStore, member: AccountMember): Promise<Statement[]> {
  return [
    ...await roleChangePreconditions(account, member, undefined),
    account.change.team.remove(member.userId),
    ...account.change.threads.forgetUser(member.userId),
    ...await revokeLostRights(account, member.userId, undefined),
  ]
}

/**
 * Keeps a removed viewer out if a person chose that role. Otherwise the account's provider would let them in again as a
 * member.
 */
function keepViewerOut({ change, deps }: AccountStore, { userId, role, roleByClaim }: AccountMember): Statement[] {
  return role === 'viewer' && !roleByClaim ? [change.team.keepOut(userId, deps.now())] : []
}

/** Fails if no owner would be left; the statements check this again. `to` is undefined for a removal. */
async function roleChangePreconditions(
  account: AccountStore,
  { userId, role }: AccountMember,
  to: Role | undefined,
): Promise<Statement[]> {
  const { team } = account.change
  if (role !== 'owner' || to === 'owner') return [team.requireRole(userId, [role])]

  const members = await account.read.team.members()
  const isEmpty = members.length === 1 && !(await account.read.agents.hasPrograms())
  if (to === undefined && isEmpty) return [team.requireEmpty(userId)]
  if (!members.some((other) => other.role === 'owner' && other.userId !== userId)) {
    throw new GridError('last_owner', 'An account must have an owner. Make another member an owner first.', {
      field: 'role',
    })
  }
  return [team.requireRole(userId, [role]), team.requireOtherOwner(userId)]
}

/** Returns statements that end whatever the new role does not permit. `role` is undefined for a removal. */
async function revokeLostRights(
  account: AccountStore,
  userId: string,
  role: Role | undefined,
): Promise<Statement[]> {
  const { change, deps: { now } } = account
  const assignable = role === undefined ? [] : assignableRoles(role)
  const mayStill = (permission: Permission) => role !== undefined && allows(role, permission)
  const scopes = [...(mayStill('manage') ? ['admin' as const] : []), ...(mayStill('use') ? ['agent:use' as const] : [])]
  return [
    change.team.endInvitationsBy(userId, assignable, now()),
    ...(mayStill('manage') ? [] : [change.keys.revokeAdminKeysOfUser(userId, now())]),
    // Each use checks the role anyway. Without this, the grants and their keys would work again when the role is
    // restored.
    change.grants.revokeOfUser(userId, scopes, now()),
    ...(mayStill('use') ? [] : await endPersonAlias(account, userId)),
  ]
}
