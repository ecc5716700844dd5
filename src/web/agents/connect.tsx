/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Configuration snippets that connect a client to the grid. */
import { Disclosure } from '../../html/components.tsx'
import { CopyBlock } from '../../html/secrets.tsx'
import { newId } from '../../lib/id.ts'

/** Placeholder for the key, which is shown only once. */
export const keyPlaceholder = 'YOUR_AGENT_KEY'
/** The name under which clients list the grid. */
export const server = 'agent-grid'

/** What to paste into one client. */
export interface Snippet {
  id: string
  title: string
  /** Where to paste it. */
  where: string
  text: string
}

/** The snippets of all clients. `baseUrl` is the URL of the grid; `key` is an agent key or a placeholder. */
export function snippets({ baseUrl, key }: { baseUrl: string; key: string }): Snippet[] {
  const url = `${baseUrl}/mcp/v1/grid`
  const headers = { Authorization: `Bearer ${key}` }
  return [
    {
      id: 'claude-code',
      title: 'Claude Code',
      where: 'In a terminal',
      text: `claude mcp add --transport http ${server} ${url} \\\n  --header "Authorization: Bearer ${key}"`,
    },
    {
      id: 'codex',
      title: 'Codex',
      where: '~/.codex/config.toml',
      text: `[mcp_servers.${server}]\nurl = "${url}"\nhttp_headers = { Authorization = "Bearer ${key}" }`,
    },
    {
      id: 'cursor',
      title: 'Cursor',
      where: '.cursor/mcp.json, or ~/.cursor/mcp.json for every project',
      text: json({ mcpServers: { [server]: { url, headers } } }),
    },
    {
      id: 'vs-code',
      title: 'VS Code',
      where: '.vscode/mcp.json',
      text: json({ servers: { [server]: { type: 'http', url, headers } } }),
    },
    {
      id: 'opencode',
      title: 'opencode',
      where: 'opencode.json',
      text: json({
        $schema: 'https://opencode.ai/config.json',
        mcp: { [server]: { type: 'remote', url, headers, oauth: false } },
      }),
    },
    {
      id: 'mcp',
      title: 'Any other MCP client',
      where: 'The format of most clients; some call the type streamable-http',
      text: json({ mcpServers: { [server]: { type: 'http', url, headers } } }),
    },
    {
      id: 'a2a',
      title: 'A2A',
      where: 'In a terminal, to send a message; use a new messageId for each message',
      text: a2aCall(`${baseUrl}/a2a/v1/grid`, key),
    },
  ]
}

/** The snippets of all clients with a key. Without a `secret` they contain a placeholder. */
export function Connect({ baseUrl, secret, isOpen = true }: { baseUrl: string; secret?: string; isOpen?: boolean }) {
  const all = snippets({ baseUrl, key: secret ?? keyPlaceholder })
  return <Snippets group='connect' snippets={all} isOpen={isOpen} />
}

/** Snippets, one open at a time; with `isOpen`, the first to begin with. `group` is unique on the page. */
export function Snippets({ group, snippets, isOpen }: { group: string; snippets: Snippet[]; isOpen: boolean }) {
  return (
    <div class='folds'>
      {snippets.map(({ id, title, where, text }, index) => (
        <Disclosure title={title} group={group} isOpen={isOpen && index === 0}>
          <CopyBlock id={`${group}-${id}`} label={where} text={text} />
        </Disclosure>
      ))}
    </div>
  )
}

/** @see A2A 0.3, `message/send`; `metadata.to` names the recipient. */
function a2aCall(url: string, key: string): string {
  const message = {
    kind: 'message',
    messageId: newId(),
    role: 'user',
    parts: [{ kind: 'text', text: 'Hello' }],
    metadata: { to: '@RECIPIENT' },
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
