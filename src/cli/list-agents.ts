import { openAccount } from '../grid/accounts/accounts.ts'
import { isoTime } from '../lib/time.ts'
import type { Agent } from '../store/account/agents.ts'
import { storeCommand } from './command.ts'
import { cursorOption, listPage, printList } from './list-page.ts'
import { accountOption } from './options.ts'

/** Live agents by alias. */
export const listAgentsCommand = storeCommand({
  name: 'list-agents',
  summary: 'List the agents of an account.',
  options: {
    account: accountOption,
    cursor: cursorOption,
  },
  async run(store, { account: id, cursor }) {
    const { read } = await openAccount(store, id, { type: 'system', job: 'list-agents' })
    const source = { read: read.agents.page, keyOf: ({ alias }: Agent) => alias, entryOf: asRow }
    const { entries, more } = await listPage(source, cursor)
    return { agents: entries, ...more }
  },
  print: ({ agents, next_cursor }) =>
    printList(
      ['Agent', 'ID', 'Type', 'Visibility', 'Last seen'],
      agents.map((agent) => [agent.alias, agent.agent_id, agent.type, agent.visibility, agent.last_seen_at ?? 'never']),
      { empty: 'The account has no agents.', next_cursor },
    ),
})

function asRow({ id, alias, type, visibility, description, createdAt, lastSeenAt }: Agent) {
  return {
    agent_id: id,
    alias: `@${alias}`,
    type,
    visibility,
    description,
    created_at: isoTime(createdAt),
    last_seen_at: lastSeenAt === null ? null : isoTime(lastSeenAt),
  }
}
