import { reissueKey } from '../grid/agents/agent-settings.ts'
import { describeAgentKey, printAgentKey } from './agent-key.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { accountOption, agentOption } from './options.ts'

/** For an agent whose key is lost or leaked. */
export const newKeyCommand = storeCommand({
  name: 'new-key',
  summary: 'Replace all keys of an agent by a new one. The old ones stop working at once.',
  options: {
    account: accountOption,
    agent: agentOption,
  },
  async run(store, args) {
    const { agent, apiKey } = await changeAccount(
      store,
      'new-key',
      { account: args.account, agent: args.agent },
      (account) => reissueKey(account, args.agent),
    )
    return describeAgentKey(store, agent, apiKey)
  },
  print: printAgentKey,
})
