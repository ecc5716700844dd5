import { openAccount } from '../grid/accounts/accounts.ts'
import { recordActivity } from '../grid/activity.ts'
import type { AccountStore } from '../store/account.ts'
import type { Store } from '../store/store.ts'
import type { CommandOption } from './command.ts'

export const accountOption = {
  placeholder: 'ID',
  description: 'ID of the account',
  required: true,
} as const satisfies CommandOption

export const agentOption = {
  placeholder: 'AGENT',
  description: 'alias or ID of the agent',
  required: true,
} as const satisfies CommandOption

export const emailOption = {
  placeholder: 'EMAIL',
  description: 'email address of the user',
  required: true,
} as const satisfies CommandOption

/**
 * Change an account as the operator, recorded in the activity log with the actor `system`. Fails with `account_not_found`,
 * and as `change` does.
 */
export async function changeAccount<T>(
  store: Store,
  command: string,
  { account: id, ...args }: { readonly account: string; readonly [option: string]: unknown },
  change: (account: AccountStore) => Promise<T>,
): Promise<T> {
  const account = await openAccount(store, id, { type: 'system', job: command })
  return await recordActivity(account, { tool: command, arguments: args, requestId: null }, change)
}
