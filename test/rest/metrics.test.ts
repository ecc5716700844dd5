/** What Prometheus reads. See docs/operating.md, "Metrics". */
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { minute, second } from '../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { guard, testProviders } from '../support/guarded.ts'
import { callTool, mcp } from '../support/mcp.ts'

const token = 'a token for metrics'
let grid: TestGrid
afterEach(() => grid.close())

test('without a setting there is nothing', async () => {
  grid = await testGrid()
  expect((await grid.request('/metrics')).status).toBe(404)
})

test.each([['no token', {}], ['a wrong token', { Authorization: 'Bearer another' }]])('%s: 401', async (_, headers) => {
  await open()
  const answer = await grid.request('/metrics', { headers })

  expect(answer.status).toBe(401)
  expect(answer.headers.get('WWW-Authenticate')).toBe('Bearer')
  expect(await answer.json()).toMatchObject({
    error: { code: 'unauthenticated', message: 'Send METRICS_TOKEN as the bearer token.' },
  })
})

test('it is answered whatever the Host, also while the grid is overloaded', async () => {
  await open()
  for (let n = 0; n < 8; n++) {
    grid.deps.overload.report(minute)
    grid.deps.overload.sample()
  }
  expect((await grid.request('/readyz')).status).toBe(200)
  expect((await grid.request('/llms.txt')).status).toBe(503)

  expect((await read({ Host: '10.1.2.3:8787' })).status).toBe(200)
})

test('calls, refusals, commits and what waits are counted, and nothing of accounts and agents is in it', async () => {
  await open()
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hello' })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'again' })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'nobody-here', message: 'hello' })
  await mcp(grid, grid.alice.key, 'no/such-method', {})
  await grid.request('/no-such-page')
  grid.clock.now += 90 * second

  const text = await (await read()).text()

  expect(valueOf(text, 'grid_call_seconds_count{door="mcp",verb="send_message"}')).toBe(3)
  expect(valueOf(text, 'grid_refusals_total{door="mcp",code="recipient_not_found"}')).toBe(1)
  expect(valueOf(text, 'grid_commit_seconds_count')).toBeGreaterThanOrEqual(2)
  expect(valueOf(text, 'grid_unread_messages')).toBe(2)
  expect(valueOf(text, 'grid_oldest_unread_seconds')).toBe(90)
  expect(valueOf(text, 'grid_database_bytes')).toBeGreaterThan(10_000)
  const { acme, alice } = grid
  for (const word of ['nobody-here', 'no/such', 'no-such', 'alice', 'bob', acme.id, alice.id]) {
    expect(text).not.toContain(word)
  }
})

test('the database is asked at most every ten seconds', async () => {
  await open()
  let asked = 0
  const { figures } = grid.store.global
  const waiting = figures.waiting
  figures.waiting = (now) => {
    asked++
    return waiting(now)
  }
  await Promise.all([read(), read(), read()])
  expect(asked).toBe(1)
})

test('checks by guardrails are counted with what became of them', async () => {
  await open(testProviders())
  await guard(grid.acme, 'alice', { direction: 'outbound', config: { phrases: ['stop'] } })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'go' })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'stop' })

  const text = await (await read()).text()
  const checks = text.split('\n').filter((line) => line.startsWith('grid_guardrail_seconds_count'))
  expect(checks.map((line) => /outcome="(\w+)"} (\d+)/.exec(line)!.slice(1))).toEqual([['passed', '1'], [
    'objected',
    '1',
  ]])
})

test('the alerts and the dashboard name metrics that there are', async () => {
  await open()
  const text = await (await read()).text()
  const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
  for (const file of ['alerts.yml', 'dashboard.json']) {
    const named = readFileSync(new URL(`../../docs/metrics/${file}`, import.meta.url), 'utf8').match(/\bgrid_\w+/g)!
    const unknown = named.filter((name) => !known.has(name.replace(/_(total|count|bucket|sum)$/, '')))
    expect(unknown).toEqual([])
  }
})

async function open(options: Parameters<typeof testGrid>[0] = {}): Promise<void> {
  grid = await testGrid({ ...options, env: { METRICS_TOKEN: token } })
}

async function read(headers: Record<string, string> = {}): Promise<Response> {
  return await grid.request('/metrics', { headers: { Authorization: `Bearer ${token}`, ...headers } })
}

function valueOf(text: string, name: string): number {
  return Number(text.split('\n').find((line) => line.startsWith(`${name} `))?.slice(name.length + 1))
}
