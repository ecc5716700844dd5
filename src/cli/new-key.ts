import { reissueKey } from '../grid/agents/agent-keys.ts'
import { mcpConfig } from '../lib/client-snippets.ts'
import { changeAccount } from './change-account.ts'
import { storeCommand } from './command.ts'
import { printAgentKey } from './print-agent-key.ts'

/** For an agent whose key is lost or leaked. */
export const newKeyCommand = storeCommand({
  name: 'new-key',
  summary: 'Replace all keys of an agent by a new one. The old ones stop working at once.',
  options: {
    account: { placeholder: 'ID', description: 'ID of the account', required: true },
    agent: { placeholder: 'AGENT', description: 'alias or ID of the agent', required: true },
  },
  async run(store, args) {
    const { agent, apiKey } = await changeAccount(
      store,
      'new-key',
      { account: args.account, agent: args.agent },
      (account) => reissueKey(account, args.agent),
    )
    return {
      agent_id: agent.id,
      alias: `@${agent.alias}`,
      api_key: apiKey,
      mcp_config: mcpConfig(store.deps.config.appUrl, apiKey),
    }
  },
  print: printAgentKey,
})
