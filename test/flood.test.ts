/** The effect on well-behaved accounts while one account floods the grid. The long form: `npm run lab -- flood`. */
import { afterAll, expect, test, vi } from 'vitest'
import { cleanUp } from '../scripts/bench/server.ts'
import { type FloodOptions, type FloodReport, measureFlood } from '../scripts/flood/measure.ts'
import { isLong } from './support/long.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

const short: FloodOptions = {
  runtime: 'node',
  traffic: 'mixed',
  seconds: 4,
  quietSeconds: isLong ? 6 : 1,
  honest: isLong ? 10 : 4,
  honestPerSecond: 5,
  agents: isLong ? 30 : 4,
  connections: 200,
  times: 10,
  capacity: 2_000,
}
const maxMiB = 400
/** The limit of an account: the multiple of `CALLS_PER_SECOND` for all of its credentials, and the burst in seconds. */
const credentialsOfAccount = 5
const burstSeconds = 20

test('while one account floods the grid, others are served, and the flood is refused', async () => {
  // A low limit, so that a short flood reaches it.
  const perSecond = isLong ? 10 : 2
  const { phases: [before, during], flood, recoveryMs } = await measureFlood({
    ...short,
    env: { CALLS_PER_SECOND: String(perSecond) },
  })

  const allowed = credentialsOfAccount * perSecond * (burstSeconds + during.seconds + 1)
  expect(flood.answers['429']).toBeGreaterThan(0)
  expect(flood.answers.served).toBeGreaterThan(0)
  expect(flood.answers.served).toBeLessThanOrEqual(allowed)
  expect(during.honestRefused).toBe(0)
  expect(during.honestPerSecond).toBeGreaterThan(before.honestPerSecond / 2)
  expect(during.p99Ms).toBeLessThan(longest(before))
  expect(during.maxMiB).toBeLessThan(maxMiB)
  if (isLong) expect(recoveryMs).toBeLessThan(6_000)
})

// Without limits, only the request scheduler and the fair write queue protect others.
test.runIf(isLong)('without call limits others are served too, and memory use is bounded', async () => {
  const { phases: [before, during], flood } = await measureFlood({
    ...short,
    env: { CALLS_PER_SECOND: '0', MESSAGES_PER_DAY: '0', UNREAD_PER_INBOX: '0' },
  })

  expect(flood.answers['429']).toBeUndefined()
  expect(flood.answers.served).toBeGreaterThan(before.honestPerSecond)
  expect(during.honestRefused).toBe(0)
  expect(during.honestPerSecond).toBeGreaterThan(before.honestPerSecond / 2)
  expect(during.p99Ms).toBeLessThan(longest(before))
  expect(during.maxMiB).toBeLessThan(maxMiB)
})

/** The longest allowed duration of an honest call during a flood, in milliseconds, given the calls before the flood. */
function longest(before: FloodReport['phases'][number]): number {
  return Math.max(3_000, 20 * before.p99Ms)
}

const { FLOOD_SECONDS: seconds, FLOOD_RUNTIME: runtime = 'node', FLOOD_TRAFFIC: traffic = 'mixed' } = process.env

test.runIf(seconds)("with the default limits, ten times the grid's capacity hardly affects others", async () => {
  const report = await measureFlood({
    runtime: runtime as FloodOptions['runtime'],
    traffic: traffic as FloodOptions['traffic'],
    seconds: Number(seconds),
    quietSeconds: 10,
    honest: 20,
    honestPerSecond: 5,
    agents: 100,
    connections: 500,
    times: 10,
  })
  const { phases: [before, during], recoveryMs } = report
  console.log(report.capacity, 'calls a second;', report.flood, 'recovered in', recoveryMs, 'ms')
  console.table(report.phases)

  expect(during.honestPerSecond).toBeGreaterThanOrEqual(0.8 * before.honestPerSecond)
  expect(during.p99Ms).toBeLessThan(500)
  expect(Math.max(...report.phases.map((phase) => phase.maxMiB))).toBeLessThan(300)
  expect(recoveryMs).toBeLessThan(2_000)
}, 600_000)
