/** What one credential can do to others with the settings as they come (docs/operations.md, "Quotas"). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { day } from '../../../src/lib/time.ts'
import { postA2a, send10 } from '../../support/a2a.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { LOG_LEVEL: 'info' } })
})
afterEach(() => grid.close())

test("3,040 sends into one stranger's inbox leave 2,000 in it, and its own account still writes to it", async () => {
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  const mallory = await grid.evil.agent('mallory')
  const sends = async (keys: string[], times: number) => {
    const codes: (string | undefined)[] = []
    while (codes.length < times) {
      const batch = Array.from({ length: 20 }, (_, n) => keys[n % keys.length])
        .map((key) => callTool(grid, key, 'send_message', { to: '@desk', message: 'hello' }))
      codes.push(...(await Promise.all(batch)).map(({ code }) => code))
    }
    return codes
  }

  const codes = await sends([grid.eve.key, mallory.key], 3_040)

  // Sends at the same time pass together.
  const stored = codes.filter((code) => code === undefined).length
  expect(stored).toBeGreaterThanOrEqual(2_000)
  expect(stored).toBeLessThan(2_020)
  expect(codes.slice(stored + 20).every((code) => code === 'quota_exceeded')).toBe(true)
  const inbox = 'SELECT count(*) AS n FROM deliveries WHERE account_id = ? AND agent_id = ?'
  expect((await rows(grid, inbox, [grid.acme.id, desk.id]))[0].n).toBe(stored)
  expect(await sends([grid.alice.key], 20)).toEqual(Array(20).fill(undefined))
})

test('200 A2A sends of 240 kB count as what they take, and a day takes a gigabyte of them', async () => {
  const data = 'x'.repeat(240_000)
  const send = async (n: number) => {
    const messageId = `${n}`.padStart(36, '0')
    const parts = [{ text: 'x' }, { data: { data } }]
    return (await postA2a(grid, grid.alice.key, send10({ messageId, parts }))).status
  }
  expect(await send(0)).toBe(200)
  const today = Math.floor(grid.clock.now / day) * day
  const { account: { bytes } } = await grid.acme.store.read.usage.of(today, null)
  expect(bytes).toBeGreaterThan(240_000)
  expect(bytes).toBeLessThan(250_000)

  // Others have sent enough that 100 more fit into the day.
  await grid.store.write([{
    sql: 'UPDATE usage SET bytes = ? WHERE account_id = ? AND day = ?',
    args: [1_000_000_000 - 100 * bytes, grid.acme.id, today],
  }])
  const statuses: number[] = []
  for (let n = 1; n < 200; n++) statuses.push(await send(n))

  expect(statuses).toEqual([...Array(100).fill(200), ...Array(99).fill(429)])
})
