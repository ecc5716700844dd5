/** Deletes and restores an account. See docs/operating/accounts.md, "Deleting an account". */
import { requireConfirmed } from '../../auth/actor.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { day } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { authorize } from '../authorize.ts'

/** How long a deleted account can be restored. */
export const deletedKeptMs = 7 * day

/**
 * Deletes the account. From then on nobody can reach it, its agents or its keys. The user types `name`, which must be
 * the account's name. Resolves to the time at which the account is removed, which is now for an incomplete import.
 * Fails with `invalid_input`, or for a user with `confirmation_required`.
 */
export async function deleteAccount(account: AccountStore, input: { name: string }): Promise<{ removedAt: number }> {
  const { read, change, deps } = account
  const { precondition } = await authorize(account, 'own')
  if (input.name.trim() !== await read.profile.accountName()) {
    throw invalidInput('This is not the name of the account.', 'confirmation')
  }
  requireConfirmed(account.actor, deps.now())
  const at = deps.now()
  if (await read.removal.isImporting()) {
    await account.write([...precondition, ...change.removal.beginImporting(at)])
    return { removedAt: at }
  }
  await account.write([...precondition, ...change.removal.delete(at)])
  return { removedAt: at + deletedKeptMs }
}

/** Restores a deleted account, except the tasks that waited for its agents. Fails with `not_found`. */
export async function restoreAccount(account: AccountStore): Promise<void> {
  const { precondition } = await authorize(account, 'own')
  try {
    await account.write([...precondition, ...account.change.removal.restore(account.deps.now() - deletedKeptMs)])
  } catch (error) {
    if (!(error instanceof GridError) || error.code !== 'write_conflict') throw error
    throw new GridError('not_found', 'The account is not deleted, or it is too late to restore it.')
  }
}
