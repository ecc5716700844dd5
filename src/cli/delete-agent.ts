import { deleteAgent } from '../grid/agents/agents.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption, agentOption } from './options.ts'

/** The alias stays reserved for the account. See docs/protocol.md, "Agent". */
export const deleteAgentCommand = storeCommand({
  name: 'delete-agent',
  summary: 'Delete an agent. Its keys stop working at once, and this cannot be undone.',
  options: {
    account: accountOption,
    agent: agentOption,
  },
  async run(store, args) {
    const { id, alias } = await changeAccount(
      store,
      'delete-agent',
      { account: args.account, agent: args.agent },
      (account) => deleteAgent(account, args.agent),
    )
    return { deleted: true, agent_id: id, alias: `@${alias}` }
  },
  print: (agent) => `${agent.alias} is deleted.`,
})
