/** The team of an account: what its people are, and how they go. An account always has an owner. */
import { allows, callingUser, type Permission, type Role, roles } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Member } from '../../store/account/team.ts'
import type { Statement } from '../../store/driver/binding.ts'
import { againOnConflict } from '../retry-on-conflict.ts'
import { standing } from '../authorize.ts'

/** The roles that somebody of a role may give and take: owners all of them, admins those below the owners. */
export function grantable(role: Role): readonly Role[] {
  if (role === 'owner') return roles
  return allows(role, 'manage') ? roles.filter((given) => given !== 'owner') : []
}

/**
 * Make a member something else. With the right to manage go the admin keys that they made; with the right to give
 * a role go the invitations to it that they sent; with the right to act, what they let OAuth clients do, and the
 * keys of agents that those fetched.
 * Fails with `not_allowed`, `member_not_found`, `invalid_input` or `last_owner`.
 */
export async function setMemberRole(
  account: AccountStore,
  input: { userId: string; role: string },
): Promise<{ userId: string; role: Role }> {
  const role = checkRole(input.role)
  return await againOnConflict(async () => {
    const caller = await standing(account, 'manage')
    const member = await findMember(account, input.userId)
    checkGrant(caller.role, [member.role, role])
    await account.write([
      ...caller.demand,
      ...await unchanged(account, member, role),
      account.change.team.setRole(member.userId, role),
      ...endOfRights(account, member.userId, role),
    ])
    return { userId: member.userId, role }
  })
}

/**
 * Take somebody out of the account. The admin keys that they made end, and so do their invitations and grants.
 * Fails with `not_allowed`, `member_not_found` or `last_owner`.
 */
export async function removeMember(account: AccountStore, userId: string): Promise<{ userId: string }> {
  return await againOnConflict(async () => {
    const caller = await standing(account, 'manage')
    const member = await findMember(account, userId)
    checkGrant(caller.role, [member.role])
    await account.write([...caller.demand, ...await removal(account, member)])
    return { userId }
  })
}

/** Leave the account. The caller's admin keys, invitations and grants end. Fails with `last_owner`. */
export async function leaveAccount(account: AccountStore): Promise<void> {
  const { userId } = callingUser(account.actor)
  await againOnConflict(async () => {
    const member = await findMember(account, userId)
    await account.write(await removal(account, member))
  })
}

/**
 * Make another member owner, and the caller an admin. Fails with `not_allowed`, `invalid_input` (they are owner
 * already, or the caller) or `member_not_found`.
 */
export async function handOverAccount(account: AccountStore, userId: string): Promise<{ userId: string }> {
  const caller = callingUser(account.actor)
  const { team } = account.change
  return await againOnConflict(async () => {
    const { demand } = await standing(account, 'own')
    const member = await findMember(account, userId)
    if (member.role === 'owner') {
      throw new GridError('invalid_input', 'This person is an owner already.', { field: 'member' })
    }
    await account.write([
      ...demand,
      team.requireRole(userId, [member.role]),
      team.setRole(userId, 'owner'),
      team.setRole(caller.userId, 'admin'),
      ...endOfRights(account, caller.userId, 'admin'),
    ])
    return { userId }
  })
}

/** Fails with `invalid_input`. */
export function checkRole(text: string): Role {
  const role = roles.find((known) => known === text)
  if (!role) throw new GridError('invalid_input', `A role is one of ${roles.join(', ')}.`, { field: 'role' })
  return role
}

/** That somebody of a role may give or take these. Fails with `not_allowed`. */
export function checkGrant(role: Role, given: Role[]): void {
  if (given.every((one) => grantable(role).includes(one))) return
  throw new GridError('not_allowed', 'Only owners of the account can make owners, or change what they are.')
}

async function findMember(account: AccountStore, userId: string): Promise<Member> {
  const member = await account.read.team.member(userId)
  if (!member) throw new GridError('member_not_found', 'Nobody of this account has that id.')
  return member
}

async function removal(account: AccountStore, member: Member): Promise<Statement[]> {
  return [
    ...await unchanged(account, member, undefined),
    account.change.team.remove(member.userId),
    ...endOfRights(account, member.userId, undefined),
  ]
}

/** That the member is what was read, and that an owner is left when this one goes. Fails with `last_owner`. */
async function unchanged(account: AccountStore, { userId, role }: Member, to: Role | undefined): Promise<Statement[]> {
  const { team } = account.change
  if (role !== 'owner' || to === 'owner') return [team.requireRole(userId, [role])]

  const members = await account.read.team.members()
  if (!members.some((other) => other.role === 'owner' && other.userId !== userId)) {
    throw new GridError('last_owner', 'An account always has an owner. Make somebody else owner first.', {
      field: 'role',
    })
  }
  return [team.requireRole(userId, [role]), team.requireOtherOwner(userId)]
}

/** What somebody could do only with a stronger role than the one they have from now on. */
function endOfRights(account: AccountStore, userId: string, role: Role | undefined): Statement[] {
  const { change, deps: { now } } = account
  const given = role === undefined ? [] : grantable(role)
  const mayStill = (permission: Permission) => role !== undefined && allows(role, permission)
  const scopes = [...(mayStill('manage') ? ['admin' as const] : []), ...(mayStill('use') ? ['agent:use' as const] : [])]
  const keys = [
    ...(mayStill('manage') ? [] : ['admin_key' as const]),
    ...(mayStill('use') ? [] : ['agent_key' as const]),
  ]
  return [
    change.team.endInvitationsBy(userId, given, now()),
    change.keys.revokeOfUser(userId, keys, now()),
    // Refused without this too, but only until the role comes back.
    change.grants.revokeOfUser(userId, scopes, now()),
  ]
}
