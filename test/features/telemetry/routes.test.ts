/** The metrics endpoint that Prometheus scrapes. See docs/operating/monitoring.md, "Metrics". */
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { setPaused } from '../../../src/grid/remote-agents/manage.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { metricsOnly, metricsText } from '../../../src/features/telemetry/routes.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, testProviders } from '../../support/guarded.ts'
import { followIdle } from '../../support/idle.ts'
import { callTool, mcp } from '../../support/mcp.ts'
import { type Answer, remoteAgent, taskResult } from '../../support/remote-agent.ts'
import { callRest } from '../../support/rest.ts'
import { TestOutboxes } from '../../support/outboxes.ts'
import { tripwire } from '../../support/tripwire.ts'

const token = 'a token for metrics'
let grid: TestGrid
afterEach(() => grid.close())

test('the metrics endpoint is disabled without a setting', async () => {
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

test('the metrics endpoint responds for any Host, even while the grid is overloaded', async () => {
  await open()
  for (let n = 0; n < 8; n++) {
    grid.deps.overload.report(minute)
    grid.deps.overload.sample()
  }
  expect((await grid.request('/readyz')).status).toBe(200)
  expect((await grid.request('/llms.txt')).status).toBe(503)

  expect((await read({ Host: '10.1.2.3:8787' })).status).toBe(200)
})

test('metrics count calls, refusals, commits and pending work, and name no accounts or agents', async () => {
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

test('scrapes query the database at most every ten seconds', async () => {
  let asked = 0
  await open({
    inspect: (sql, crossAccount) => {
      tripwire(sql, crossAccount)
      if (sql.includes('due_outboxes')) asked++
    },
  })
  await Promise.all([read(), read(), read()])
  expect(asked).toBe(1)
})

test('after a failed query, the next scrape immediately queries the database again', async () => {
  await open()
  const { feature } = grid.store
  grid.store.feature = () => ({ waiting: () => Promise.reject(new Error('busy')) }) as never
  expect((await read()).status).toBe(500)
  grid.store.feature = feature
  expect((await read()).status).toBe(200)
})

test("metrics name each interface, and a call's time excludes waiting for messages", async () => {
  await open()
  const idle = followIdle(grid.store)
  const leasing = callRest(grid, grid.bob.key, 'POST /api/v1/inbox/leases', { wait_seconds: 50 })
  await idle(1)
  grid.clock.now += 30 * second
  await callRest(grid, grid.alice.key, 'POST /api/v1/messages', { to: '@bob', message: 'hello' })
  await leasing
  await callTool(grid, grid.alice.key, 'read_messages')
  await postA2a(grid, grid.alice.key, send10())
  await grid.request('/sign-in')
  await grid.request('/healthz')
  await grid.request('/oauth/token', { method: 'POST' })

  const text = await (await read()).text()

  const doors = [...text.matchAll(/^grid_call_seconds_count{door="(\w+)",verb="([^"]+)"} 1$/gm)]
  expect(doors.map(([, door, verb]) => `${door} ${verb}`)).toEqual(expect.arrayContaining([
    ...['mcp read_messages', 'rest /api/v1/messages', 'a2a SendMessage', 'web /sign-in', 'probe /healthz'],
    'oauth /oauth/token',
  ]))
  expect(valueOf(text, 'grid_call_seconds_sum{door="rest",verb="/api/v1/inbox/leases"}')).toBe(0)
})

test('metrics count leases, due requests, attempts and failed commits', async () => {
  await open({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  let answer: Answer = { status: 503 }
  const remote = await remoteAgent(() => answer)
  await grid.acme.agent('robot', { type: 'a2a', remoteUrl: remote.url })
  const due = async () => valueOf(await text(), 'grid_outbound_due')
  await callTool(grid, grid.alice.key, 'send_message', { to: 'robot', message: 'hello' })
  expect(await due()).toBe(1)
  await setPaused(grid.acme.store, 'robot', true)
  expect(await due()).toBe(0)
  await setPaused(grid.acme.store, 'robot', false)
  const outboxes = new TestOutboxes(grid.store)
  const step = async () => {
    grid.clock.now += minute
    await outboxes.run()
    await outboxes.settled()
  }
  await step()
  answer = taskResult('t1', 'WORKING')
  await step()
  grid.clock.now += minute
  expect(await due()).toBe(1)
  await callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: 'hello' })
  await callRest(grid, grid.bob.key, 'POST /api/v1/inbox/leases')
  await expect(grid.store.write([{ sql: 'INSERT INTO accounts DEFAULT VALUES', args: [] }])).rejects.toThrow()

  const now = await text()
  for (const outcome of ['failed', 'reached']) {
    expect(valueOf(now, `grid_outbound_attempts_total{kind="inbox",outcome="${outcome}"}`)).toBe(1)
  }
  expect(valueOf(now, 'grid_leases')).toBe(1)
  // Exceeds 1, because a failed group of writes is committed again in parts, of which one fails again.
  expect(valueOf(now, 'grid_failed_commits_total')).toBeGreaterThan(0)
  await outboxes.stop()
  await remote.close()

  /** Returns the metrics as a new process on this database would export them, without the ten seconds of caching. */
  function text(): Promise<string> {
    return metricsText(grid.store)()
  }
})

test('METRICS_PORT serves /metrics without authentication, and nothing else', async () => {
  await open()
  const serve = metricsOnly(grid.store)
  const ask = async (path: string, method = 'GET') =>
    (await serve(new Request(`http://10.1.2.3:9090${path}`, { method }))).status

  expect([await ask('/metrics'), await ask('/metrics', 'POST'), await ask('/'), await ask('/api/v1/grid')])
    .toEqual([200, 404, 404, 404])
})

test('metrics count guardrail checks by outcome', async () => {
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

test('the documented alerts and the dashboard use existing metrics', async () => {
  await open()
  const text = await (await read()).text()
  const known = new Set([...text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
  for (const file of ['alerts.yml', 'dashboard.json']) {
    const named = readFileSync(new URL(`../../../docs/metrics/${file}`, import.meta.url), 'utf8').match(/\bgrid_\w+/g)!
    const unknown = named.filter((name) => !known.has(name.replace(/_(total|count|bucket|sum)$/, '')))
    expect(unknown).toEqual([])
  }
})

async function open(options: Parameters<typeof testGrid>[0] = {}): Promise<void> {
  grid = await testGrid({ ...options, env: { METRICS_TOKEN: token, ...options.env } })
}

async function read(headers: Record<string, string> = {}): Promise<Response> {
  return await grid.request('/metrics', { headers: { Authorization: `Bearer ${token}`, ...headers } })
}

function valueOf(text: string, name: string): number {
  return Number(text.split('\n').find((line) => line.startsWith(`${name} `))?.slice(name.length + 1))
}
