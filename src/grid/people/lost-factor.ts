/** Resetting the second factor of a user who has lost it. See docs/security.md, "Lost second factor". */
import { callingUser, requireConfirmed } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { changeUser, findUser } from './operator.ts'
import { sendSecondFactorEmail } from './send-email.ts'

/**
 * Remove the second factor of another member as an owner, and end the member's sessions. The caller must own every
 * account that the member belongs to: the factor protects all of them. `account` is a view of `store`.
 * Fails with `not_allowed`, `confirmation_required`, `member_not_found`, `invalid_input` or `write_conflict`.
 */
export async function resetMemberSecondFactor(
  store: Store,
  account: AccountStore,
  userId: string,
): Promise<{ userId: string }> {
  const caller = callingUser(account.actor)
  const email = await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(caller, store.deps.now())
    const member = await account.read.team.member(userId)
    if (!member) throw new GridError('member_not_found', 'No member of this account has that id.')
    if (userId === caller.userId) {
      throw new GridError('invalid_input', 'Change your own second factor under Settings, Security.')
    }
    if (!member.hasSecondFactor) throw hasNone()
    const { secondFactors } = store.global
    if (await secondFactors.isBeyond(caller.userId, userId)) {
      throw new GridError(
        'not_allowed',
        'This user also belongs to an account that you do not own. Ask the operator of the grid to reset the second factor.',
      )
    }
    await account.write([
      ...precondition,
      account.change.team.requireRole(userId, [member.role]),
      secondFactors.requireOwned(caller.userId, userId),
      ...resetStatements(store, userId),
    ])
    return member.email
  })
  sendSecondFactorEmail(store, email, 'reset')
  return { userId }
}

/**
 * Remove the second factor of a user as the operator, and end the user's sessions. The activity log of each of the
 * user's accounts has a row. Fails with `not_found`, `invalid_email`, or `invalid_input` if there is nothing to reset.
 */
export async function resetSecondFactor(store: Store, email: string, command: string): Promise<{ userId: string }> {
  const user = await findUser(store, email)
  const { secondFactors } = store.global
  const [passkeys, totp] = await Promise.all([secondFactors.passkeysOf(user.id), secondFactors.totpOf(user.id)])
  if (passkeys.length === 0 && (totp?.confirmedAt ?? null) === null) throw hasNone()
  await changeUser(store, user, command, resetStatements(store, user.id))
  sendSecondFactorEmail(store, user.email, 'reset')
  return { userId: user.id }
}

function resetStatements({ global, deps }: Store, userId: string): Statement[] {
  return [...global.secondFactors.removeAll(userId), global.sessions.endOthers(userId, '', deps.now())]
}

function hasNone(): GridError {
  return new GridError('invalid_input', 'This user has no second factor.')
}
