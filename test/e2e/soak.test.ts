/**
 * Days of steady traffic with a clock that jumps by four hours at a time. As much data must be removed as arrives. Only
 * `npm run lab -- soak` runs the test.
 */
import process from 'node:process'
import { expect, test } from 'vitest'
import { createWebhook } from '../../src/features/webhooks/webhooks.ts'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { setAutomated } from '../../src/grid/messaging/turns.ts'
import { day, hour } from '../../src/lib/time.ts'
import type { StoredFollower } from '../../src/store/global/pulse.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { endpointOf, postA2a, send10 } from '../support/a2a.ts'
import { rows } from '../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { keepFigures } from '../support/proof-log.ts'
import { signUp } from '../support/signup.ts'
import { waitFor } from '../support/wait-for.ts'
import { startWebhook } from '../support/webhook.ts'

const days = Number(process.env.SOAK_DAYS ?? 0)
const retentionDays = 7
/** The clock jumps by this many hours. Each jump takes about two seconds, until the process's loop runs again. */
const stepHours = 4
/** From this day on, removals balance arrivals: messages stay for 7 days, and tasks for 7 days after their end. */
const steadyDay = 2 * retentionDays + 2
/** Tables that keep growing: daily counts, a year's activity, signed-up accounts, and the search index. */
const growing = /^(traffic|usage|activity|accounts|signups|sqlite_\w+|\w*search\w*)$/

test.runIf(days > 0)('with steady traffic, as much data is removed as arrives', async () => {
  const webhook = await startWebhook()
  const env = { RETENTION_DAYS: `${retentionDays}`, ALLOW_PRIVATE_TARGETS: '1', CALLS_PER_SECOND: '0' }
  // `inspect` is replaced because the test counts the rows of all accounts, which it would refuse.
  const grid = await testGrid({ env, inspect: () => {} })
  // The start is in the past: log rows have the database's time, and the test's clock must not overtake it.
  grid.clock.now = Date.now() - (days + 1) * day
  const { alice, bob, acme } = grid
  const carol = await acme.agent('carol')
  for (const { alias } of [alice, bob, carol]) await setAutomated(acme.store, { agent: alias, isAutomated: true })
  await createChannel(acme.store, { name: 'all', members: ['alice', 'bob', 'carol'] })
  await createWebhook(acme.store, { url: webhook.url, events: ['message'] })
  // Hourly jobs use the process's monotonic clock, so this clock jumps with the test's clock.
  const ticks = performance.now.bind(performance)
  let jumped = 0
  performance.now = () => ticks() + jumped
  const worker = await startWorker(grid.store)
  const sent = { messages: 0, tasks: 0 }
  const counts: Record<string, number>[] = []
  const heaps: number[] = []
  try {
    for (let n = 0; n < days; n++) {
      for (let at = 0; at < 24; at += stepHours) {
        await traffic(grid, carol, n, at, sent)
        // No request may be in progress during the jump, because it would time out.
        await untilIdle(grid)
        grid.clock.now += stepHours * hour
        jumped += stepHours * hour
        await untilIdle(grid)
      }
      await signUp(grid, { owner_email: `tom${n}@trial.example`, alias: `trial-${n}` })
      counts.push(await rowCounts(grid))
      heaps.push(Math.round(process.memoryUsage().heapUsed / 1e6))
    }
    const [steady, last] = [counts[steadyDay - 1], counts[days - 1]]
    const grown = Object.keys(last).filter((table) => !growing.test(table) && last[table] > steady[table] * 1.05 + 20)
    console.log(JSON.stringify({ ...sent, webhook: webhook.taken.length, heaps, rows: last }))
    expect(grown.map((table) => `${table}: ${counts.map((count) => count[table])}`)).toEqual([])
    expect(heaps.at(-1)).toBeLessThan(heaps[steadyDay - 1] * 1.3)
    // The webhook received every message, except the last scheduled ones, which are not due yet.
    expect(new Set(webhook.taken.map(({ body }) => body.data.message_id)).size).toBeGreaterThan(sent.messages * 0.98)
    expect(grid.logs.filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([])
    const { messages, tasks } = sent
    keepFigures('soak', 'node', 0, { days, messages, tasks, webhook: webhook.taken.length })
  } finally {
    performance.now = ticks
    await worker.stop()
    await grid.close()
    await webhook.close()
  }
}, 1_200_000)

/** Makes the agents' calls before a jump. They cover all interfaces, and everything that expires. */
async function traffic(grid: TestGrid, carol: TestAgent, n: number, at: number, sent: Record<string, number>) {
  const { alice, bob } = grid
  const call = async (agent: TestAgent, tool: string, args: object) => {
    const { text, code, message } = await callTool(grid, agent.key, tool, { ...args })
    if (code && code !== 'already_reserved') throw new Error(`${tool}: ${message}`)
    return text
  }
  const send = (to: string, more: object = {}) => {
    sent.messages++
    return call(alice, 'send_message', { to, message: `hour ${at} of day ${n}`, ...more })
  }
  for (let i = 0; i < 20; i++) await send('@bob', { idempotency_key: `${n} ${at} ${i}` })
  await send('#all')
  await send('@carol', { expires_in_seconds: 1_800 })
  await send('@bob', { send_at: 5_400 })
  await call(alice, 'reserve', { names: ['src/**'], seconds: 3_000 })
  await call(bob, 'reserve', { names: ['src/a'], seconds: 60 })
  const asked = await postA2a(
    grid,
    alice.key,
    send10({}, { configuration: { returnImmediately: true } }),
    {},
    endpointOf(bob),
  )
  const { task } = asked.body.result
  sent.tasks++
  sent.messages++
  const { status } = await grid.post('/api/v1/messages', { to: '@carol', message: 'over REST' }, {
    Authorization: `Bearer ${bob.key}`,
  })
  expect(status).toBeLessThan(300)
  sent.messages++
  for (const agent of [bob, ...at % 8 === 0 ? [carol] : [], alice]) {
    for (let left = 20; left > 0; left--) if ((await call(agent, 'read_messages', {})).length === 0) break
  }
  if (at !== 0) await call(bob, 'update_task', { task_id: task.id, state: 'completed', text: 'done' })
}

/** Resolves when followers are up to date, webhook events are sent, and no message has to be sent or to expire. */
async function untilIdle(grid: TestGrid): Promise<void> {
  const due = `SELECT (SELECT count(*) FROM webhook_events) AS events,
    (SELECT count(*) FROM scheduled_messages WHERE send_at <= :now) AS scheduled,
    (SELECT count(*) FROM deliveries WHERE state = 'unread' AND expires_at <= :now) AS expired`
  const followers = await rows(grid, 'SELECT name FROM projections')
  let left: unknown
  await waitFor('all that is due', async () => {
    grid.store.loop.wake()
    const [found] = await rows(grid, due.replaceAll(':now', `${grid.clock.now}`))
    const behind = followers.filter(({ name }) => grid.store.loop.behind(name as StoredFollower) > 0)
    left = { ...found, behind }
    return behind.length === 0 && Object.values(found).every((n) => n === 0)
  }).catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(left)} ${grid.logs.slice(-5).join('\n')}`)
  })
}

async function rowCounts(grid: TestGrid): Promise<Record<string, number>> {
  const tables = await rows(
    grid,
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'",
    [],
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    counts[String(name)] = Number((await rows(grid, `SELECT count(*) AS n FROM ${name}`, []))[0].n)
  }
  return counts
}
