/**
 * Checks permissions by the caller's current role, and again within the write. Verbs that use it fail with
 * `wrong_credential`, `not_allowed` or `write_conflict`; their comments name only other errors.
 */
import { allows, notAllowed, type Permission, permissions, requirePermission, type Role } from '../auth/actor.ts'
import type { AccountStore } from '../store/account.ts'
import type { Statement } from '../store/sql.ts'

interface Authorization {
  role: Role
  /** Fails the unit if the caller has lost the permission. Empty for callers that are not users. */
  precondition: Statement[]
}

/** Requires a permission of the caller's current role, which may have changed since the request began. */
export async function authorize(account: AccountStore, permission: Permission): Promise<Authorization> {
  const { actor } = account
  requirePermission(actor, permission)
  if (actor.type !== 'user') return { role: actor.type === 'system' ? 'owner' : 'admin', precondition: [] }

  const member = await account.read.team.member(actor.userId)
  if (!member || !allows(member.role, permission)) {
    throw notAllowed(permission, 'Your role in the account has changed.')
  }
  return { role: member.role, precondition: [account.change.team.requireRole(actor.userId, permissions[permission])] }
}
