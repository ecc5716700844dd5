/** Whether owners and admins can read what agents write to each other. See docs/people.md, "People who read". */
import { requireConfirmed } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

/** `off`; `on` from now; or `older`, which adds earlier messages to an account where it is on. */
export type PeopleRead = 'off' | 'on' | 'older'

/**
 * Turn on or off that the owners and admins of the account can read what its agents write to each other. Turning it on
 * covers messages from then on; earlier messages are a separate choice. Only owners may change it, after they have
 * confirmed who they are. Resolves to the start of the readable period, in milliseconds since the epoch: 0 for
 * everything, null if they cannot read.
 * Fails with `wrong_credential`, `not_allowed`, `confirmation_required`, `invalid_input` or `write_conflict`.
 */
export async function setPeopleRead(
  account: AccountStore,
  { choice }: { choice: PeopleRead },
): Promise<{ since: number | null }> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, account.deps.now())
    const { profile } = account.change
    const before = await account.read.profile.peopleReadSince()
    if (choice === 'older' && before === null) {
      throw new GridError('invalid_input', 'Let owners and admins read messages first, then older ones too.')
    }
    const since = choice === 'off' ? null : choice === 'older' ? 0 : before ?? account.deps.now()
    await account.write([...precondition, profile.requirePeopleReadSince(before), profile.setPeopleRead(since)])
    return { since }
  })
}

/**
 * Set whether the texts of messages that guardrails block are kept, for 7 days, for the people of the account to see.
 * Turning it off removes the kept texts. Only owners may change it, after they have confirmed who they are.
 * Fails with `wrong_credential`, `not_allowed`, `confirmation_required` or `write_conflict`.
 */
export async function setContentsVisible(
  account: AccountStore,
  { isVisible }: { isVisible: boolean },
): Promise<{ isVisible: boolean }> {
  return await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(account.actor, account.deps.now())
    const { profile, verdicts } = account.change
    await account.write([
      ...precondition,
      profile.showContents(isVisible),
      ...(isVisible ? [] : [verdicts.forgetContents()]),
    ])
    return { isVisible }
  })
}
