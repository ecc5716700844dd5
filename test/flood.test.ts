/** The short form of `npm run flood` (docs/operations.md, "Floods"). */
import { afterAll, expect, test, vi } from 'vitest'
import { cleanUp } from '../scripts/bench/server.ts'
import { measureFlood } from '../scripts/flood/measure.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

test('while one account floods the grid, others are served, and the flood is refused', async () => {
  const { phases: [before, during], flood, recoveryMs } = await measureFlood({
    runtime: 'node',
    seconds: 4,
    quietSeconds: 3,
    honest: 10,
    honestPerSecond: 5,
    agents: 30,
    connections: 200,
    times: 10,
    capacity: 2_000,
    // So that a short flood meets them. The credentials do not meet theirs.
    env: { ACCOUNT_CALLS_PER_SECOND: '50', ACCOUNT_CALL_BURST: '200' },
  })

  expect(flood.answers['429']).toBeGreaterThan(flood.answers.served!)
  expect(flood.answers.served).toBeGreaterThanOrEqual(200)
  expect(during.honestRefused).toBe(0)
  expect(during.honestPerSecond).toBeGreaterThan(before.honestPerSecond / 2)
  expect(during.p99Ms).toBeLessThan(3_000)
  expect(recoveryMs).toBeLessThan(3_000)
})
