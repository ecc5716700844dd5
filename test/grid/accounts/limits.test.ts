/** An account's own limits, which override the settings, and its usage. */
import { beforeEach, expect, test } from 'vitest'
import { setLimits, usageOf } from '../../../src/grid/limits.ts'
import { createAgent } from '../../../src/grid/agents/agents.ts'
import { day } from '../../../src/lib/time.ts'
import { sweep } from '../../../src/worker/retention.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { callRest } from '../../support/rest.ts'

let grid: TestGrid
const send = (text = 'hi') => callTool(grid, grid.alice.key, 'send_message', { to: 'bob', message: text })

beforeEach(async () => {
  grid = await testGrid({ env: { MESSAGES_PER_DAY: '2', AGENTS_PER_ACCOUNT: '0' } })
})

test("an account's daily message limit can be above or below the setting, and can be reset", async () => {
  const { store } = grid.acme
  await send()
  await send()
  expect(await send()).toMatchObject({ code: 'quota_exceeded' })
  await setLimits(store, { messagesPerDay: 3 })
  expect((await send()).code).toBeUndefined()
  expect(await send()).toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringContaining('sent 3 messages today'),
  })
  await setLimits(store, { messagesPerDay: 0 })
  expect((await send()).code).toBeUndefined()
  await setLimits(store, { messagesPerDay: null })
  expect(await send()).toMatchObject({ message: expect.stringContaining('sent 2 messages today') })
})

test('omitted limits stay unchanged, and 0 means no limit', async () => {
  grid = await testGrid()
  const { store } = grid.acme
  await setLimits(store, { messagesPerDay: 0, megabytesPerDay: 7, agents: 5, retentionDays: 3 })
  expect(await setLimits(store, { megabytesPerDay: 0, agents: 0 }))
    .toEqual({ messagesPerDay: 0, megabytesPerDay: 0, agents: 0, retentionDays: 3 })
  expect(await setLimits(store, { retentionDays: null }))
    .toEqual({ messagesPerDay: 0, megabytesPerDay: 0, agents: 0, retentionDays: 90 })
})

test("an account's limits on megabytes and agents do not affect other accounts", async () => {
  const { acme, evil } = grid
  await setLimits(acme.store, { megabytesPerDay: 1, agents: 2, messagesPerDay: 0 })
  await send()
  const withUsed = async (bytes: number) => {
    await rows(grid, 'UPDATE usage SET bytes = ? WHERE account_id = ?', [bytes, acme.id])
    return await send()
  }
  expect((await withUsed(999_999)).code).toBeUndefined()
  expect(await withUsed(1_000_000)).toMatchObject({
    code: 'quota_exceeded',
    message: expect.stringContaining('took 1 MB today'),
  })
  const input = { alias: 'one-more', type: 'mcp', visibility: 'private' } as const
  await expect(createAgent(acme.store, input)).rejects.toMatchObject({ code: 'agent_limit_reached' })
  await createAgent(evil.store, input)
})

test('of two agents created at the same time, the one beyond the limit is refused', async () => {
  const { store } = grid.acme
  await setLimits(store, { agents: 3 })
  const created = await Promise.allSettled(['carol', 'dave'].map((alias) => createAgent(store, { alias })))

  expect(created.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(created.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'agent_limit_reached' } })
})

test("an account's messages are stored for its own retention time, and other accounts' for the default time", async () => {
  await setLimits(grid.acme.store, { retentionDays: 3 })
  await send()
  await callTool(grid, grid.eve.key, 'send_message', { to: 'eve', message: 'a note' })
  await grid.store.drained()
  const messages = async (id: string) => (await rows(grid, 'SELECT 1 FROM messages WHERE account_id = ?', [id])).length
  const ofEvil = await messages(grid.evil.id)

  grid.clock.now += 3 * day - 1
  await sweep(grid.store)
  expect(await messages(grid.acme.id)).toBe(1)
  grid.clock.now += 1
  await sweep(grid.store)

  expect([await messages(grid.acme.id), await messages(grid.evil.id)]).toEqual([0, ofEvil])
})

test('usage reports the messages sent on each day, also over REST with an admin key', async () => {
  await send()
  grid.clock.now += day
  await send()
  await setLimits(grid.acme.store, { agents: 7 })
  const used = await usageOf(grid.acme.store)
  expect(used).toMatchObject({
    limits: { messagesPerDay: 2, agents: 7 },
    agents: 2,
    days: [{ messages: 1 }, { messages: 1 }],
  })
  expect(used.days[0].day > used.days[1].day).toBe(true)

  const of = async (key: string) => await callRest(grid, key, 'GET /api/v1/usage')
  expect((await of(grid.acme.adminKey)).body).toEqual(used)
  expect((await of(grid.alice.key)).status).toBe(403)
})

test('usage covers today and the 30 previous days, and counts a message to another account once', async () => {
  await grid.evil.agent('desk', { visibility: 'public' })
  await callTool(grid, grid.alice.key, 'send_message', { to: 'desk', message: 'hi' })
  const days = async () => (await usageOf(grid.acme.store)).days

  grid.clock.now += 30 * day
  await sweep(grid.store)
  expect(await days()).toMatchObject([{ day: '2026-11-21', messages: 1 }])
  grid.clock.now += day
  expect(await days()).toEqual([])
})
