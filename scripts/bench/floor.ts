/**
 * A server without a database: the echo that is the floor of every ratio, the whole service on an in-memory store, and
 * the same tools served with the MCP SDK as its documentation shows.
 */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { Hono } from 'hono'
import { createApp } from '../../src/app.ts'
import { processDeps } from '../../src/cli/process.ts'
import { readConfig } from '../../src/config.ts'
import { Presences } from '../../src/lib/presence.ts'
import { listen } from '../../src/listen.ts'
import { agentTools } from '../../src/mcp/agent-tools.ts'
import { toolCatalog } from '../../src/mcp/tool.ts'
import { runTool, toolOutcome } from '../../src/mcp/toolset.ts'
import { type AccountStore, AccountWaiting } from '../../src/store/account.ts'
import type { Credential } from '../../src/store/global/credentials.ts'
import type { LiveFeed } from '../../src/store/live.ts'
import type { NewDeliveries } from '../../src/store/new-deliveries.ts'
import type { Store } from '../../src/store/store.ts'
import { openWaiting } from '../../src/store/waiting.ts'

const config = readConfig(process.env)
const deps = processDeps(config)

const caller: Credential = {
  accountId: 'account',
  id: 'credential',
  kind: 'agent_key',
  userId: null,
  grantId: null,
  // In the future, so that its use is not recorded.
  lastUsedAt: Number.MAX_SAFE_INTEGER,
  agentId: 'agent',
  alias: 'alice',
  onTrial: 0,
}

/** Nothing waits here, so nothing is polled. */
const waiting = new AccountWaiting(
  openWaiting(deps, {} as NewDeliveries, true),
  caller.accountId,
  {} as LiveFeed,
  new Presences(deps.now),
)

/** Accepts every key, and has no channels. */
const memoryStore = {
  deps,
  global: { credentials: { byHash: () => Promise.resolve(caller) } },
  account: (_id: string, actor: AccountStore['actor']) => ({
    deps,
    actor,
    waiting,
    change: { keys: {} },
    read: { channels: { ofAgent: () => Promise.resolve([]), memberAliases: () => Promise.resolve([]) } },
  }),
} as unknown as Store

const catalog = toolCatalog(agentTools)

/** One server object per request. */
const sdk = createMcpHandler(() => {
  const account = memoryStore.account('account', { type: 'agent', agentId: 'agent', alias: 'alice', credentialId: '' })
  const server = new McpServer({ name: 'bench', version: '1.0.0' })
  for (const entry of catalog.byName.values()) {
    const { name, description, annotations, input } = entry.tool
    const run = async (args: unknown) => ({
      ...(await toolOutcome(runTool(entry, account, args), {}, deps.log, '')).result,
    })
    server.registerTool(name, { description, annotations, inputSchema: input }, run)
  }
  return server
})

const grid = createApp(memoryStore)
const app = new Hono()
app.post('/hello', async (c) => c.json(await c.req.json()))
app.post('/sdk', (c) => sdk.fetch(c.req.raw))

const { port, host } = config
process.once('SIGTERM', () => process.exit(0))
void listen((request, connection) => {
  const { pathname } = new URL(request.url)
  return pathname === '/hello' || pathname === '/sdk' ? app.fetch(request) : grid.fetch(request, connection)
}, { port, host })
