import { deleteAdminKey } from '../grid/accounts/accounts.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'

/** The next request with the key is refused. See docs/protocol.md, "Admin keys". */
export const deleteAdminKeyCommand = storeCommand({
  name: 'delete-admin-key',
  summary: 'Delete an admin key. It stops working at once, and this cannot be undone.',
  options: {
    account: accountOption,
    key: { placeholder: 'ID', description: 'ID of the key; list-admin-keys shows it', required: true },
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
  print: (key) => `The admin key ${key.key_id} is deleted.`,
})
