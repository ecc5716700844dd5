/** What a command says of a new key of an agent. */
import { a2aAddress, type McpConfig, mcpConfig, serverName, snippets } from '../lib/client-snippets.ts'
import type { Store } from '../store/store.ts'
import { table } from './table.ts'

/** A new key of an agent, as JSON. `mcp_config` is the same as that of a signup. */
type AgentKey = {
  agent_id: string
  alias: string
  api_key: string
  mcp_config: McpConfig
  /** Where A2A clients call the agent. */
  a2a_url: string
}

/** The result of a command that made a key. */
export function describeAgentKey({ deps }: Store, agent: { id: string; alias: string }, apiKey: string): AgentKey {
  return {
    agent_id: agent.id,
    alias: `@${agent.alias}`,
    api_key: apiKey,
    mcp_config: mcpConfig(deps.config.appUrl, apiKey),
    a2a_url: a2aAddress(deps.config.baseUrl, agent.alias),
  }
}

/** The key with what to paste into each client. */
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
