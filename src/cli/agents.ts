import { reissueKey } from '../grid/agents/agent-settings.ts'
import { createAgent } from '../grid/agents/agents.ts'
import { a2aAddress, type McpConfig, mcpConfig, serverName, snippets } from '../lib/client-snippets.ts'
import type { Store } from '../store/store.ts'
import { storeCommand } from './command.ts'
import { accountOption, agentOption, changeAccount } from './on-account.ts'
import { table } from './tables.ts'

export const createAgentCommand = storeCommand({
  name: 'create-agent',
  summary: 'Create an agent with its key, and print what to paste into each client.',
  options: {
    account: accountOption,
    alias: {
      placeholder: 'ALIAS',
      description: '3 to 32 characters of a-z, 0-9 and -, unique on the grid',
      required: true,
    },
    type: {
      placeholder: 'TYPE',
      description: 'mcp (default), or a2a (needs --remote-url)',
      oneOf: ['mcp', 'a2a'],
    },
    visibility: {
      placeholder: 'VISIBILITY',
      description: 'private (default), or public: other accounts can find it',
      oneOf: ['private', 'public'],
    },
    'access-policy': {
      placeholder: 'POLICY',
      description: 'which agents of other accounts may write to it: auto_approve (default), allow_list or block_list',
      oneOf: ['auto_approve', 'allow_list', 'block_list'],
    },
    'access-list': { placeholder: 'ALIASES', description: 'the aliases on that allow or block list, comma-separated' },
    description: { placeholder: 'TEXT', description: 'what the agent does' },
    'remote-url': { placeholder: 'URL', description: 'URL of an agent of type a2a' },
  },
  async run(store, args) {
    const input = {
      alias: args.alias,
      type: args.type,
      visibility: args.visibility,
      accessPolicy: args['access-policy'],
      accessList: args['access-list']?.split(',').filter((alias) => alias.trim() !== ''),
      description: args.description,
      remoteUrl: args['remote-url'],
    }
    const { agent, apiKey } = await changeAccount(
      store,
      'create-agent',
      { account: args.account, ...input },
      (account) => createAgent(account, input),
    )
    return describeAgentKey(store, agent, apiKey)
  },
  print: printAgentKey,
})

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

/** `mcp_config` is the same as that of a signup. */
type AgentKey = {
  agent_id: string
  alias: string
  api_key: string
  mcp_config: McpConfig
  /** Where A2A clients call the agent. */
  a2a_url: string
}

export function describeAgentKey({ deps }: Store, agent: { id: string; alias: string }, apiKey: string): AgentKey {
  return {
    agent_id: agent.id,
    alias: `@${agent.alias}`,
    api_key: apiKey,
    mcp_config: mcpConfig(deps.config.appUrl, apiKey),
    a2a_url: a2aAddress(deps.config.baseUrl, agent.alias),
  }
}

export function printAgentKey(agent: AgentKey): string {
  const { origin } = new URL(agent.mcp_config.mcpServers[serverName].url)
  return [
    table([['Agent', agent.alias], ['ID', agent.agent_id], ['Key', agent.api_key], ['A2A address', agent.a2a_url]]),
    'The key is not shown again.',
    ...snippets({ baseUrl: origin, key: agent.api_key }).map(({ title, where, text }) =>
      `\n${title} (${where}):\n\n${text.replace(/^/gm, '  ')}`
    ),
  ].join('\n')
}
