/** Log lines of refused and slow calls (docs/operating/monitoring.md, "Logs"). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../src/grid/agents/agents.ts'
import { endpoint, postA2a, send10 } from './support/a2a.ts'
import { browser } from './support/browse.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { guard, secret, testProviders } from './support/guarded.ts'
import { followIdle } from './support/idle.ts'
import { callTool, gridPath, mcp, signupPath, wireRequest } from './support/mcp.ts'
import { tripwire } from './support/tripwire.ts'
import { waitFor } from './support/wait-for.ts'

const canary = 'canary-text-4711'
const env = { LOG_LEVEL: 'info' }
const providers = testProviders()

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env, guardrailChecks: providers.guardrailChecks })
})
afterEach(() => grid.close())

test('a successful call is not logged', async () => {
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hello' })
  await callTool(grid, grid.bob.key, 'read_messages')
  await callTool(grid, grid.acme.adminKey, 'admin_list_agents')
  await grid.request('/api/v1/me', { headers: bearer(grid.alice.key) })
  await browser(grid).open('/sign-in')
  await browser(grid).open(`/accounts/${grid.acme.id}/agents`)

  expect(lines()).toEqual([])
})

test("a refused call at each interface is logged in one line, with ids and without the caller's texts", async () => {
  const { alice, acme } = grid
  await grid.setPassword('ann@acme.example', 'correct horse battery')
  const caller = { account: acme.id, agent: alice.id, ms: 0, waitingMs: 0, guardrailsMs: 0, commitMs: 0 }
  const refused: [call: () => Promise<unknown>, line: object][] = [
    [() => callTool(grid, alice.key, 'send_message', { to: canary, message: canary }), {
      door: 'mcp',
      tool: 'send_message',
      code: 'recipient_not_found',
      ...caller,
    }],
    [() => callTool(grid, acme.adminKey, 'admin_create_agent', { alias: canary.repeat(9) }), {
      door: 'mcp',
      tool: 'admin_create_agent',
      code: 'invalid_alias',
      account: acme.id,
    }],
    [() => mcp(grid, alice.key, 'tools/call', { name: canary }), { door: 'mcp', tool: 'tools/call', code: '-32602' }],
    [() => mcp(grid, alice.key, canary), { door: 'mcp', route: gridPath, code: '-32601', agent: alice.id }],
    [() => grid.post(gridPath, {}, { Authorization: `Bearer ${canary}` }), { door: 'mcp', code: 'unauthenticated' }],
    [() => grid.post(signupPath, `{"${canary}`), { door: 'mcp', route: signupPath, code: 'malformed_json' }],
    [() => postA2a(grid, alice.key, send10({ metadata: { to: canary } })), {
      door: 'a2a',
      tool: 'SendMessage',
      code: 'recipient_not_found',
      ...caller,
    }],
    [() => grid.post(`${endpoint}/message:send`, send10({ metadata: { to: canary } }).params, bearer(alice.key)), {
      door: 'a2a',
      route: '/a2a/v1/grid/message:send',
      code: 'recipient_not_found',
      ...caller,
    }],
    [() => grid.post('/api/v1/messages', { to: canary, message: canary }, bearer(alice.key)), {
      door: 'rest',
      route: '/api/v1/messages',
      code: 'recipient_not_found',
      ...caller,
    }],
    [() => grid.post(`/api/v1/inbox/leases/${canary}/ack`, {}, bearer(alice.key)), {
      door: 'rest',
      route: '/api/v1/inbox/leases/:lease/ack',
      code: 'lease_not_found',
    }],
    [() => grid.post('/oauth/token', canary, { 'Content-Type': 'application/x-www-form-urlencoded' }), {
      door: 'oauth',
      route: '/oauth/token',
      code: 'invalid_client',
    }],
    [() => browser(grid).submit('/sign-in', { email: `${canary}@acme.example`, password: canary }), {
      door: 'web',
      route: '/sign-in',
      code: 'sign_in_failed',
    }],
    [() => grid.request('/sign-in?x', { headers: { Host: canary } }), { door: 'web', code: 'unknown_host' }],
  ]

  for (const [call, line] of refused) {
    grid.logs.length = 0
    await call()
    expect(lines()).toEqual([expect.objectContaining({ level: 'info', message: 'A call was refused', ...line })])
    expect(lines()[0].requestId).toMatch(/^[\da-f-]{36}$/)
    expect(grid.logs.join()).not.toContain(canary)
  }
})

test("a log line has the response's request id", async () => {
  const answer = await grid.post('/api/v1/messages', { to: 'nobody', message: 'x' }, bearer(grid.alice.key))

  expect(lines()).toMatchObject([{ requestId: answer.headers.get('x-request-id') }])
})

test("a caller that is refused repeatedly produces only a few log lines, and other callers' lines are kept", async () => {
  const refuse = (key: string, tool: string, args: object) => callTool(grid, key, tool, { ...args })
  for (let i = 0; i < 30; i++) await refuse(grid.alice.key, 'send_message', { to: 'nobody', message: 'x' })
  expect(lines()).toHaveLength(10)

  grid.logs.length = 0
  await refuse(grid.alice.key, 'read_messages', { wait_seconds: -1 })
  await refuse(grid.bob.key, 'send_message', { to: 'nobody', message: 'x' })
  expect(lines()).toMatchObject([{ code: 'invalid_input' }, { agent: grid.bob.id }])

  grid.logs.length = 0
  grid.clock.now += 60_000
  for (let i = 0; i < 3; i++) await refuse(grid.alice.key, 'send_message', { to: 'nobody', message: 'x' })
  expect(lines()).toHaveLength(1)
})

test('a slow call is logged with the time of each step', async () => {
  await guard(grid.acme, 'bob', { direction: 'inbound', provider: 'webhook' })
  providers.remote.check = () => {
    grid.clock.now += 1_200
    return { kinds: [] }
  }

  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: secret })

  expect(lines()).toEqual([expect.objectContaining({
    message: 'A call was slow',
    tool: 'send_message',
    agent: grid.alice.id,
    ms: 1_200,
    guardrailsMs: 1_200,
    commitMs: 0,
  })])
})

test("a slow call's log line includes the time of the commit", async () => {
  await grid.close()
  grid = await testGrid({
    env,
    inspect: (sql, name) => {
      tripwire(sql, name)
      if (/insert .*into messages/i.test(sql)) grid.clock.now += 1_500
    },
  })

  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'x' })

  expect(lines()).toMatchObject([{ message: 'A call was slow', ms: 1_500, guardrailsMs: 0, commitMs: 1_500 }])
})

test('waiting for messages does not make a call slow', async () => {
  const idle = followIdle(grid.store)
  const reading = callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 20 })
  await idle(1)
  grid.clock.now += 15_000
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'x' })
  await reading

  expect(lines()).toEqual([])
})

test('a streamed wait that is refused before it ends is logged', async () => {
  const { headers, body } = wireRequest('legacy', 'tools/call', {
    name: 'read_messages',
    arguments: { wait_seconds: 50 },
  })
  const response = await grid.post(gridPath, body, { ...headers, ...bearer(grid.bob.key) })
  const text = response.text()
  await waitFor('the wait', () => grid.store.waiting.reads.count === 1)
  await deleteAgent(grid.acme.store, 'bob')

  expect(await text).toContain('unauthenticated')
  expect(lines()).toMatchObject([{ tool: 'read_messages', code: 'unauthenticated', agent: grid.bob.id }])
})

function bearer(key: string) {
  return { Authorization: `Bearer ${key}` }
}

/** Returns the parsed log lines. */
// deno-lint-ignore no-explicit-any -- tests check it
function lines(): any[] {
  return grid.logs.map((line) => JSON.parse(line))
}
