import { openAccount } from '../grid/accounts/accounts.ts'
import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { accountOption } from './options.ts'
import { table } from './table.ts'

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
