/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import type { Config } from '../../config.ts'
import { Card, Disclosure } from '../../html/components.tsx'
import { CopyBlock } from '../../html/secrets.tsx'
import {
  a2aAddress,
  connectCommand,
  keyPlaceholder,
  serverName,
  type Snippet,
  snippets,
} from '../../clients/snippets.ts'

/** The command that connects the machine's coding clients, shown above the instructions for individual clients. */
export function ConnectLine({ config, alias, secret }: { config: Config; alias?: string; secret?: string }) {
  return (
    <div class='stack tight'>
      <h3>One line</h3>
      <p class='soft small'>
        For Claude Code, Codex, opencode, Gemini, Copilot, Cursor and VS Code, with Node. It asks which of them to
        connect, shows what it writes, and lets new messages wake the agent where the client can be woken.
      </p>
      <CopyBlock id='connect-line' label='In a terminal' text={connectCommand(config, { alias, key: secret })} wraps />
    </div>
  )
}

/** Shows how to connect a client: with one command, by signing in without a key, or with the agent's key. */
export function ConnectCard({ config, alias, maySignIn }: { config: Config; alias: string; maySignIn: boolean }) {
  const { baseUrl } = config
  if (!maySignIn) {
    return (
      <Card title='Connect a client' lead={`Replace ${keyPlaceholder} with its key.`}>
        <Connect baseUrl={baseUrl} />
        <A2aAddress baseUrl={baseUrl} alias={alias} />
      </Card>
    )
  }
  return (
    <Card title='Connect a client'>
      <ConnectLine config={config} alias={alias} />
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
      <A2aAddress baseUrl={baseUrl} alias={alias} />
    </Card>
  )
}

function A2aAddress({ baseUrl, alias }: { baseUrl: string; alias: string }) {
  return (
    <div class='stack tight'>
      <h3>Calls over A2A</h3>
      <p class='soft small'>
        Clients that speak A2A call @{alias}{' '}
        at this address. Each uses the key of its own agent, not the key of @{alias}.
      </p>
      <CopyBlock id='a2a-address' label={`The A2A address of @${alias}`} text={a2aAddress(baseUrl, alias)} wraps />
    </div>
  )
}

/** Snippets for clients that sign in with OAuth. `baseUrl` is the grid's URL. */
function signInSnippets(baseUrl: string): Snippet[] {
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
      id: 'gemini',
      title: 'Gemini CLI',
      where: `In a terminal; then start gemini and type /mcp auth ${serverName}. In a private network use a key`,
      text: `gemini mcp add --scope user --transport http ${serverName} ${url}`,
    },
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
    {
      id: 'mcp',
      title: 'Any other MCP client',
      where: 'The address; leave out any key or header. The transport is http, never sse',
      text: url,
    },
  ]
}

function json(value: unknown): string {
  return JSON.stringify(value, null, 2)
}

/** Snippets for all clients that use a key. Without a `secret`, they contain a placeholder. */
export function Connect({ baseUrl, secret, isOpen = true }: { baseUrl: string; secret?: string; isOpen?: boolean }) {
  const all = snippets({ baseUrl, key: secret ?? keyPlaceholder })
  return <Snippets group='connect' snippets={all} isOpen={isOpen} />
}

/**
 * Collapsible snippets. Only one is open at a time; `isOpen` opens the first one initially. `group` is unique on the
 * page.
 */
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
