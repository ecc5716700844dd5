/** A person who signed in with a browser, to the account they administer. */
import { GridError } from '../errors.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'
import type { Visitor } from './session.ts'

/** Opens an account for a person who is owner or admin of it now. Fails with `access_denied`. */
export type EnterAccount = (visitor: Visitor, accountId: string) => Promise<AccountStore>

export function enterAsAdmin({ global, account }: Store): EnterAccount {
  return async function enter({ user, sessionId }, accountId) {
    if (!(await global.oauth.picks.administers(accountId, user.id))) {
      throw new GridError('access_denied', 'You are not owner or admin of this account.')
    }
    return account(accountId, { type: 'admin', credentialId: sessionId, credentialKind: 'session', userId: user.id })
  }
}
