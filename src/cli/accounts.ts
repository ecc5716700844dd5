import { hashPassword } from '../auth/passwords.ts'
import { createAccount } from '../grid/accounts/accounts.ts'
import { signInUrlOfOwner } from '../grid/people/operator.ts'
import { isoTime } from '../lib/time.ts'
import { ownCommand } from '../lib/version.ts'
import { storeCommand } from './command.ts'
import { cursorOption, listPage, printList, table } from './tables.ts'

export const createAccountCommand = storeCommand({
  name: 'create-account',
  summary: 'Create an account with its owner and a first admin key.',
  beginsGrid: true,
  options: {
    name: { placeholder: 'NAME', description: 'name of the account', required: true },
    'owner-email': { placeholder: 'EMAIL', description: 'email address of the owner', required: true },
    password: {
      placeholder: 'PASSWORD',
      description: 'password of the owner; without one, a link is printed that signs the owner in once',
    },
  },
  async run(store, args) {
    const passwordHash = args.password === undefined ? undefined : await hashPassword(args.password)
    const { name, 'owner-email': ownerEmail } = args
    const input = { name, ownerEmail, passwordHash }
    const call = { tool: 'create-account', arguments: { name, owner_email: ownerEmail }, requestId: null }
    const account = await createAccount(store, input, { type: 'system', job: 'create-account' }, call)
    const { url, worksOnce } = await signInUrlOfOwner(store, account)
    return {
      account_id: account.id,
      user_id: account.userId,
      admin_key: account.adminKey,
      sign_in_url: url,
      works_once: worksOnce,
    }
  },
  print: (account) =>
    table([
      ['Account', account.account_id],
      ['Owner', account.user_id],
      ['Admin key', account.admin_key],
      ['Sign in', account.sign_in_url],
    ]) + '\nThe key is not shown again.' +
    (account.works_once ? ' The link works once, within 24 hours; create-link makes another.' : '') +
    `\nNext: ${ownCommand} create-agent --account ${account.account_id} --alias my-agent`,
})

type Account = { id: string; name: string; state: 'provisional' | 'claimed'; createdAt: number }

/** Accounts in the order of their creation. Provisional ones were opened by a signup, and wait for a claim. */
export const listAccountsCommand = storeCommand({
  name: 'list-accounts',
  summary: 'List the accounts with their owners and the number of agents.',
  options: { cursor: cursorOption },
  async run(store, { cursor }) {
    const source = {
      read: store.global.accounts.page,
      keyOf: ({ id }: Account) => id,
      entryOf: (account: Account) => account,
    }
    const { entries, more } = await listPage(source, cursor)
    const accounts = []
    for (const { id, name, state, createdAt } of entries) {
      const { read } = store.account(id, { type: 'system', job: 'list-accounts' })
      const owners = (await read.team.members()).filter(({ role }) => role === 'owner').map(({ email }) => email)
      accounts.push({
        account_id: id,
        name,
        state,
        owners,
        agents: await read.agents.total(),
        created_at: isoTime(createdAt),
      })
    }
    return { accounts, ...more }
  },
  print: ({ accounts, next_cursor }) =>
    printList(
      ['Account', 'State', 'Agents', 'Name', 'Owners'],
      accounts.map((account) => [
        account.account_id,
        account.state,
        account.agents,
        account.name,
        account.owners.join(' ') || '-',
      ]),
      { empty: 'There are no accounts.', next_cursor },
    ),
})
