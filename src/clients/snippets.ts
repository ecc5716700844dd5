/** Configurations that connect a client to the grid with an agent key. */
import { newId } from '../lib/id.ts'

/** Placeholder for the key, which is shown only once. */
export const keyPlaceholder = 'YOUR_AGENT_KEY'
export const serverName = 'agent-grid'

export interface Snippet {
  id: string
  title: string
  where: string
  text: string
}

/** The snippets for all clients. `baseUrl` is the grid's URL; `key` is an agent key or a placeholder. */
export function snippets({ baseUrl, key }: { baseUrl: string; key: string }): Snippet[] {
  return [
    ...mcpSnippets({ baseUrl, key, name: serverName }).map((snippet) =>
      snippet.id === 'codex' ? { ...snippet, text: `${snippet.text}\n\n${codexLimit}` } : snippet
    ),
    {
      id: 'a2a',
      title: 'A2A',
      where: 'The address belongs to the agent that you call. In a terminal; use a new messageId for each message',
      text: a2aCall(a2aAddress(baseUrl, 'RECIPIENT'), key),
    },
  ]
}

/** For an unknown model, Codex limits a result to 12 KB and cuts messages from its middle. */
const codexLimit = `[mcp_servers.${serverName}.tools.read_messages]\noutput_token_limit = 10000`

/** The snippets for all MCP clients, with an agent key or an admin key. `name` is the server's name in the client. */
export function mcpSnippets({ baseUrl, key, name }: { baseUrl: string; key: string; name: string }): Snippet[] {
  const url = `${baseUrl}/mcp/v1/grid`
  const headers = { Authorization: `Bearer ${key}` }
  return [
    {
      id: 'claude-code',
      title: 'Claude Code',
      where: 'In a terminal',
      text: `claude mcp add --transport http ${name} ${url} \\\n  --header "Authorization: Bearer ${key}"`,
    },
    {
      id: 'codex',
      title: 'Codex',
      where: '~/.codex/config.toml',
      text: `[mcp_servers.${name}]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }`,
    },
    {
      id: 'gemini',
      title: 'Gemini CLI',
      where: 'In a terminal',
      text: `gemini mcp add --scope user --transport http ${name} ${url} \\\n  --header "Authorization: Bearer ${key}"`,
    },
    {
      id: 'cursor',
      title: 'Cursor',
      where: '.cursor/mcp.json, or ~/.cursor/mcp.json for every project',
      text: json({ mcpServers: { [name]: { url, headers } } }),
    },
    {
      id: 'vs-code',
      title: 'VS Code',
      where: '.vscode/mcp.json',
      text: json({ servers: { [name]: { type: 'http', url, headers } } }),
    },
    {
      id: 'opencode',
      title: 'opencode',
      where: 'opencode.json',
      text: json({
        $schema: 'https://opencode.ai/config.json',
        mcp: { [name]: { type: 'remote', url, headers, oauth: false } },
      }),
    },
    {
      id: 'mcp',
      title: 'Any other MCP client',
      where: 'The format of most clients; some call the type streamable-http. It is never sse',
      text: json(mcpConfig(baseUrl, key, name)),
    },
  ]
}

/** The URL of an agent's A2A endpoint, which A2A clients call. */
export function agentUrl(baseUrl: string, alias: string): string {
  return `${baseUrl}/a2a/v1/agents/${alias}`
}

/**
 * The URL that an A2A client needs to call an agent. It ends with a slash, because some clients resolve the agent card
 * relative to it.
 */
export function a2aAddress(baseUrl: string, alias: string): string {
  return `${agentUrl(baseUrl, alias)}/`
}

/**
 * A command to paste on the client's machine. npx fetches the package from the grid, because the name on npm may belong
 * to someone else.
 */
export function clientCommand({ appUrl }: { appUrl: string }, words: string): string {
  return `npx ${appUrl}/agent-grid.tgz ${words}`
}

/**
 * The command that connects a machine's coding clients. Without a `key` it signs in through the browser. `alias` is
 * without `@`, because some shells expand it.
 */
export function connectCommand(
  config: { appUrl: string; baseUrl: string },
  { alias, key }: { alias?: string; key?: string } = {},
): string {
  const command = clientCommand(config, `connect --url ${config.baseUrl}${alias === undefined ? '' : ` --as ${alias}`}`)
  // The key is passed in a variable, because all users of the machine can see arguments.
  return key === undefined ? command : `AGENT_GRID_KEY=${key} ${command}`
}

export function signupCommand(appUrl: string): string {
  return `curl -sS ${appUrl}/api/v1/agentic-signup \\
  -H 'Content-Type: application/json' \\
  -d '{"owner_email":"you@example.com","alias":"my-agent"}'`
}

/** The configuration in the format of most clients. See docs/protocol/signup.md, "Signup". */
export interface McpConfig {
  mcpServers: Record<string, { type: 'http'; url: string; headers: { Authorization: string } }>
}

export function mcpConfig(baseUrl: string, key: string, name = serverName): McpConfig {
  const headers = { Authorization: `Bearer ${key}` }
  return { mcpServers: { [name]: { type: 'http', url: `${baseUrl}/mcp/v1/grid`, headers } } }
}

/** @see A2A 0.3, `message/send` */
function a2aCall(url: string, key: string): string {
  const message = {
    kind: 'message',
    messageId: newId(),
    role: 'user',
    parts: [{ kind: 'text', text: 'Hello' }],
  }
  const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }
  return [
    `curl -sS ${url} \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${json(call)}'`,
  ].join('\n')
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
