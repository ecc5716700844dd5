/**
 * On a remote database an agent that called before is presumed to be the same, and its key is looked up with the first
 * query of the call. What has changed since counts nevertheless. See docs/security.md, "Bearer checks".
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { reissueKey } from '../../src/grid/agents/agent-keys.ts'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { rows, updateTrial } from '../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool, gridPath, mcp, sendWire, wireRequest } from '../support/mcp.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

let server: Sqld
let grid: TestGrid
/** What each request to the database was for. */
let requests: ('queries' | 'commit')[] = []
let agents = 0

beforeAll(async () => {
  server = await startSqld({ isRelaxed: true })
  grid = await testGrid({
    url: server.url,
    async fetch(url, init) {
      const body = String(init?.body)
      if (body.includes('"steps"')) requests.push(body.includes('COMMIT') ? 'commit' : 'queries')
      return await fetch(url, init)
    },
  })
})
afterAll(async () => {
  await grid.close()
  await server.stop()
})
beforeEach(() => requests = [])

/** An agent that has called. */
async function knownAgent(): Promise<TestAgent> {
  const agent = await grid.acme.agent(`known-${++agents}`)
  await callTool(grid, agent.key, 'read_messages')
  await grid.store.exchangeUsage()
  requests = []
  return agent
}

test('a send is a request with queries and a commit, and so is a read', async () => {
  const [sender, reader] = [await knownAgent(), await knownAgent()]
  const send = () => callTool(grid, sender.key, 'send_message', { to: reader.alias, message: 'hi' })
  await send()
  await callTool(grid, reader.key, 'read_messages')
  await grid.store.exchangeUsage()
  requests = []

  await send()
  expect(requests).toEqual(['queries', 'commit'])
  requests = []
  const { text } = await callTool(grid, reader.key, 'read_messages')

  expect(text).toHaveLength(1)
  expect(requests).toEqual(['queries', 'commit'])
})

const ends: [string, (agent: TestAgent) => Promise<unknown>][] = [
  ['whose key was replaced', ({ alias }) => reissueKey(grid.acme.store, alias)],
  ['who was deleted', ({ alias }) => deleteAgent(grid.acme.store, alias)],
]
const calls: [string, (key: string) => ReturnType<typeof mcp>][] = [
  ['send', (key) => mcp(grid, key, 'tools/call', call('send_message', { to: 'bob', message: 'refused' }))],
  ['read', (key) => mcp(grid, key, 'tools/call', call('read_messages', {}))],
  ['wait', (key) => mcp(grid, key, 'tools/call', call('read_messages', { wait_seconds: 50 }))],
  ['list agents', (key) => mcp(grid, key, 'tools/call', call('list_agents', {}))],
  ['list tools', (key) => mcp(grid, key, 'tools/list')],
  ['call a tool in vain', (key) => mcp(grid, key, 'tools/call', call('send_message', {}))],
  ['read a resource', (key) => mcp(grid, key, 'resources/read', { uri: 'grid://inbox' })],
  ['send no JSON', (key) => sendWire(grid, key, { ...wireRequest('legacy', 'ping'), body: '{' }, gridPath)],
]

test.each(ends.flatMap(([who, end]) => calls.map(([what, make]) => ({ who, what, end, make }))))(
  'an agent $who cannot $what, and stores nothing',
  async ({ end, make }) => {
    const agent = await knownAgent()
    await end(agent)

    const { status, headers } = await make(agent.key)

    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('invalid_token')
    expect(
      await rows(grid, 'SELECT id FROM messages WHERE account_id = ? AND from_agent_id = ?', [
        grid.acme.id,
        agent.id,
      ]),
    ).toEqual([])
  },
)

test('an agent that was put on trial is on trial in the next call', async () => {
  const agent = await knownAgent()
  await updateTrial(grid, agent, { used: 0, max: 1, expiresAt: grid.clock.now + 60_000 })

  await callTool(grid, agent.key, 'send_message', { to: 'bob', message: 'counts' })
  const { code } = await callTool(grid, agent.key, 'send_message', { to: 'bob', message: 'is too much' })

  expect(code).toBe('trial_expired')
})

test('an agent that moved to another account acts there in the next call', async () => {
  const agent = await knownAgent()
  const moved = await grid.evil.agent(`moved-${agents}`)
  // As a merge of accounts does it: the key stays.
  await rows(grid, 'DELETE FROM credentials WHERE account_id = ? AND agent_id = ?', [grid.evil.id, moved.id])
  await rows(grid, 'UPDATE credentials SET account_id = ?, agent_id = ? WHERE account_id = ? AND agent_id = ?', [
    grid.evil.id,
    moved.id,
    grid.acme.id,
    agent.id,
  ])

  await callTool(grid, agent.key, 'send_message', { to: 'eve', message: 'hi' })

  const { text } = await callTool(grid, grid.eve.key, 'read_messages')
  expect(text).toMatchObject([{ user: `@${moved.alias}`, message: 'hi' }])
})

function call(name: string, args: Record<string, unknown>) {
  return { name, arguments: args }
}
