/** What the caller may do at this moment, and a statement that says so again at the moment of the write. */
import { allows, type Permission, permissions, requirePermission, type Role } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import type { AccountStore } from '../store/account.ts'
import type { Statement } from '../store/driver/binding.ts'

export interface Standing {
  role: Role
  /** Fails the unit when the caller has lost the permission; empty for callers without a role of their own. */
  demand: Statement[]
}

/**
 * That the caller may do something, by the role they have now: the request may be older than the last change of it.
 * Fails with `wrong_credential` or `not_allowed`.
 */
export async function standing(account: AccountStore, permission: Permission): Promise<Standing> {
  const { actor } = account
  requirePermission(actor, permission)
  if (actor.type !== 'user') return { role: actor.type === 'system' ? 'owner' : 'admin', demand: [] }

  const member = await account.read.team.member(actor.userId)
  if (!member || !allows(member.role, permission)) {
    throw new GridError('not_allowed', 'Your role in the account has changed, and no longer allows this.')
  }
  return { role: member.role, demand: [account.change.team.requireRole(actor.userId, permissions[permission])] }
}
