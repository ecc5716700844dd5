import { createAdminKey } from '../grid/accounts/accounts.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { table } from './table.ts'

/** The key is shown here only. Spec: "Authentication" 5. */
export const createAdminKeyCommand = storeCommand({
  name: 'create-admin-key',
  summary: 'Make a further admin key of an account.',
  options: {
    account: { takes: 'ID', doc: 'the account', required: true },
    name: { takes: 'NAME', doc: 'what the key is for', required: true },
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
  print: (key) => table([['Id', key.key_id], ['Admin key', key.admin_key]]) + '\nThe key is shown here only.',
})
