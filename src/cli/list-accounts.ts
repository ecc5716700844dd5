import { isoTime } from '../lib/time.ts'
import { storeCommand } from './command.ts'
import { cursorOption, listPage, printList } from './list-page.ts'

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
