import { type McpConfig, serverName, snippets } from '../lib/client-snippets.ts'
import { table } from './table.ts'

/** A new key of an agent with what to paste into each client. `mcp_config` is the same as that of a signup. */
export function printAgentKey(
  agent: { agent_id: string; alias: string; api_key: string; mcp_config: McpConfig },
): string {
  const { origin } = new URL(agent.mcp_config.mcpServers[serverName].url)
  return [
    table([['Agent', agent.alias], ['ID', agent.agent_id], ['Key', agent.api_key]]),
    'The key is not shown again.',
    ...snippets({ baseUrl: origin, key: agent.api_key }).map(({ title, where, text }) =>
      `\n${title} (${where}):\n\n${text.replace(/^/gm, '  ')}`
    ),
  ].join('\n')
}
