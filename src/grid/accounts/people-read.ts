/** Whether owners and admins can read what agents write to each other. See docs/people.md, "People who read". */
import { requireConfirmed } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import type { AccountStore } from '../../store/account.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'

/** `off`; `on` for messages from now on; `older` to add earlier messages when reading is already on. */
export type PeopleRead = 'off' | 'on' | 'older'

/**
 * Sets whether owners and admins of the account can read messages between its agents. Turning it on covers only
 * messages from then on; earlier messages are a separate choice. Only owners may change it, after they have confirmed
 * their identity. Resolves to the start of the readable period, in milliseconds since the epoch: 0 for everything, null
 * if they cannot read. Fails with `wrong_credential`, `not_allowed`, `confirmation_required`, `invalid_input` or
 * `write_conflict`.
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
 * Sets whether the texts of messages that guardrails block are stored for 7 days, so that people of the account can
 * read them. Turning it off removes the stored texts. Only owners may change it, after they have confirmed their
 * identity. Fails with `wrong_credential`, `not_allowed`, `confirmation_required` or `write_conflict`.
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
