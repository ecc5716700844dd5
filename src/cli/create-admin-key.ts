import { createAdminKey } from '../grid/accounts/accounts.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'
import { table } from './table.ts'

/** See docs/protocol.md, "Admin keys". */
export const createAdminKeyCommand = storeCommand({
  name: 'create-admin-key',
  summary: 'Create another admin key for an account.',
  options: {
    account: accountOption,
    name: { placeholder: 'NAME', description: 'what the key is for', required: true },
  },
  async run(store, args) {
    const { id, adminKey } = await changeAccount(
      store,
      'create-admin-key',
      args,
      (account) => createAdminKey(account, args.name),
    )
    return { key_id: id, admin_key: adminKey }
  },
  print: (key) => table([['ID', key.key_id], ['Admin key', key.admin_key]]) + '\nThe key is not shown again.',
})
