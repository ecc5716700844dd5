import { createAdminKey, deleteAdminKey, openAccount } from '../grid/accounts/accounts.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { accountOption, changeAccount } from './on-account.ts'
import { table } from './tables.ts'

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

/** Live keys, without their secrets. See docs/protocol.md, "Admin keys". */
export const listAdminKeysCommand = storeCommand({
  name: 'list-admin-keys',
  summary: 'List the live admin keys of an account.',
  options: { account: accountOption },
  async run(store, args) {
    const account = await openAccount(store, args.account, { type: 'system', job: 'list-admin-keys' })
    const keys = await account.read.keys.adminKeys()
    return {
      keys: keys.map(({ id, name, last4, userId, createdAt, lastUsedAt }) => ({
        key_id: id,
        name,
        last4,
        user_id: userId,
        created_at: isoTime(createdAt),
        last_used_at: lastUsedAt === null ? null : isoTime(lastUsedAt),
      })),
    }
  },
  print: ({ keys }) =>
    keys.length === 0
      ? 'The account has no admin keys.'
      : table(keys.map((key) => [key.key_id, `…${key.last4}  ${key.created_at}  ${key.name}`] as const)),
})

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
