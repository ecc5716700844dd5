/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { Card } from '../../html/components.tsx'
import { keyPlaceholder, serverName, type Snippet } from '../../lib/client-snippets.ts'
import { Connect, Snippets } from './connect.tsx'

/** How to connect a client to an agent: by signing in, which needs no key, and with its key. */
export function ConnectCard({ baseUrl, alias, maySignIn }: { baseUrl: string; alias: string; maySignIn: boolean }) {
  if (!maySignIn) {
    return (
      <Card title='Connect a client' lead={`Replace ${keyPlaceholder} with its key.`}>
        <Connect baseUrl={baseUrl} />
      </Card>
    )
  }
  return (
    <Card title='Connect a client'>
      <div class='stack tight'>
        <h3>Sign in</h3>
        <p class='soft small'>
          The client needs only the address. It opens your browser, where you choose @{alias}. There is no key to copy,
          and you can disconnect the program here.
        </p>
        <Snippets group='sign-in' snippets={signInSnippets(baseUrl)} isOpen />
      </div>
      <div class='stack tight'>
        <h3>With a key</h3>
        <p class='soft small'>For programs without a browser. Replace {keyPlaceholder} with its key.</p>
        <Connect baseUrl={baseUrl} isOpen={false} />
      </div>
    </Card>
  )
}

/** What clients need to sign in by OAuth. `baseUrl` is the URL of the grid. */
export function signInSnippets(baseUrl: string): Snippet[] {
  const url = `${baseUrl}/mcp/v1/grid`
  const inTerminal = 'In a terminal'
  return [
    {
      id: 'claude-code',
      title: 'Claude Code',
      where: inTerminal,
      text: `claude mcp add --transport http ${serverName} ${url}\nclaude mcp login ${serverName}`,
    },
    { id: 'codex', title: 'Codex', where: inTerminal, text: `codex mcp add ${serverName} --url ${url}` },
    {
      id: 'cursor',
      title: 'Cursor',
      where: '~/.cursor/mcp.json; then Connect in its settings',
      text: json({ mcpServers: { [serverName]: { url } } }),
    },
    {
      id: 'vs-code',
      title: 'VS Code',
      where: '.vscode/mcp.json; then Start above the entry',
      text: json({ servers: { [serverName]: { type: 'http', url } } }),
    },
    {
      id: 'opencode',
      title: 'opencode',
      where: `opencode.json; then: opencode mcp auth ${serverName}`,
      text: json({ $schema: 'https://opencode.ai/config.json', mcp: { [serverName]: { type: 'remote', url } } }),
    },
    { id: 'mcp', title: 'Any other MCP client', where: 'The address; leave out any key or header', text: url },
  ]
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}
