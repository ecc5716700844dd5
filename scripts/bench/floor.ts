/**
 * Server without a database: the floor of every ratio, the whole service on a store that answers from memory,
 * and the same tool as the SDK's documentation would serve it.
 */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import { createApp } from '../../src/app.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { listen } from '../../src/listen.ts'
import { agentTools } from '../../src/mcp/agent-tools.ts'
import { runTool, toolResult } from '../../src/mcp/tool.ts'
import type { AccountStore } from '../../src/store/account.ts'
import type { Credential } from '../../src/store/global/credentials.ts'
import type { Store } from '../../src/store/store.ts'

const config = readConfig(process.env)
const deps = processDeps(config)

const caller: Credential = {
  accountId: 'account',
  id: 'credential',
  kind: 'agent_key',
  userId: null,
  // Now and later: no use of it is noted.
  lastUsedAt: Number.MAX_SAFE_INTEGER,
  agentId: 'agent',
  alias: 'alice',
  onTrial: 0,
}

/** Every key is good, and nobody is in a channel. */
const noStore = {
  deps,
  global: { credentials: { byHash: () => Promise.resolve(caller) } },
  account: (_id: string, actor: AccountStore['actor']) => ({
    deps,
    actor,
    change: { keys: {} },
    read: { channels: { ofAgent: () => Promise.resolve([]), memberAliases: () => Promise.resolve([]) } },
  }),
} as unknown as Store

/** A server object per request. */
const sdk = createMcpHandler(() => {
  const account = noStore.account('account', { type: 'agent', agentId: 'agent', alias: 'alice', credentialId: '' })
  const server = new McpServer({ name: 'bench', version: '1.0.0' })
  for (const tool of agentTools) {
    const { name, description, annotations, input } = tool
    const run = async (args: unknown) => ({ ...(await toolResult(runTool(tool, account, args), {}, deps.log, '')) })
    server.registerTool(name, { description, annotations, inputSchema: input }, run)
  }
  return server
})

const grid = createApp(noStore)
const app = new Hono()
app.post('/hello', async (c) => c.json(await c.req.json()))
app.post('/sdk', (c) => sdk.fetch(c.req.raw))

const { port, host } = config
process.once('SIGTERM', () => process.exit(0))
void listen((request, connection) => {
  const { pathname } = new URL(request.url)
  return pathname === '/hello' || pathname === '/sdk' ? app.fetch(request) : grid.fetch(request, connection)
}, { port, host })
