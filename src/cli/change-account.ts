import { enterAccount } from '../grid/accounts/accounts.ts'
import { recorded } from '../grid/activity.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'

/**
 * Change an account as the operator. The command leaves its row in the activity log as an admin tool does,
 * with the actor `system`. Fails with `account_not_found`, and with what `change` fails with.
 */
export async function changeAccount<T>(
  store: Store,
  command: string,
  { account: id, ...args }: { readonly account: string; readonly [option: string]: unknown },
  change: (account: AccountStore) => Promise<T>,
): Promise<T> {
  const account = await enterAccount(store, id, { type: 'system', job: command })
  return await recorded(account, { tool: command, arguments: args, requestId: null }, change)
}
