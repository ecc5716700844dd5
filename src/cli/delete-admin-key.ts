import { deleteAdminKey } from '../grid/accounts/accounts.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'

/** The key's next request is refused. Spec: "Authentication" 5. */
export const deleteAdminKeyCommand = storeCommand({
  name: 'delete-admin-key',
  summary: 'End an admin key at once. This cannot be undone.',
  options: {
    account: { takes: 'ID', doc: 'the account', required: true },
    key: { takes: 'ID', doc: 'id of the key, as list-admin-keys shows it', required: true },
  },
  async run(store, args) {
    const { id } = await changeAccount(
      store,
      'delete-admin-key',
      { account: args.account, id: args.key },
      (account) => deleteAdminKey(account, args.key),
    )
    return { deleted: true, key_id: id }
  },
  print: (key) => `The admin key ${key.key_id} has ended.`,
})
