import process from 'node:process'
import { expect, test } from 'vitest'
import { runtimes } from '../support/process.ts'
import { chaos, type ChaosOptions, fullTrials, soundDatabase } from './chaos/chaos.ts'
import { noFaults } from './chaos/ledger.ts'

// `npm run chaos` sets these for a longer run.
const { CHAOS_SECONDS, CHAOS_SEED, CHAOS_RUNTIMES } = process.env
const seconds = CHAOS_SECONDS === undefined ? undefined : Number(CHAOS_SECONDS)
const seed = Number(CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 32))
const chosenRuntimes = CHAOS_RUNTIMES === undefined ? runtimes : CHAOS_RUNTIMES.split(',') as typeof runtimes
// A longer run takes as long as the machine needs.
const testTimeoutMs = seconds === undefined ? 120_000 : 0

// Only in the long run, because the second test kills processes too.
test.skipIf(seconds === undefined)(
  'three processes, killed at random: nothing lost, nothing twice, in order',
  async () => {
    await expectPromises({ seconds: seconds ?? 6, killDatabase: false })
  },
  testTimeoutMs,
)

test('and the libsql-server too, once in the middle', async () => {
  await expectPromises({ seconds: seconds ?? 4, killDatabase: true })
}, testTimeoutMs)

async function expectPromises(options: Pick<ChaosOptions, 'seconds' | 'killDatabase'>): Promise<void> {
  console.log(`Seed ${seed}: npm run chaos -- --seconds ${options.seconds} --seed ${seed}`)
  const { faults, trials, database, figures } = await chaos({
    ...options,
    seed,
    runtimes: chosenRuntimes,
    // Leases of a dead process are released after a minute, for which a short run does not wait.
    releasedWithinMs: seconds === undefined ? undefined : 120_000,
  })
  console.log(JSON.stringify(figures))

  expect(faults).toEqual(noFaults)
  expect(trials).toEqual(fullTrials)
  expect(database).toEqual(soundDatabase)
  expect(figures.kills).toBeGreaterThan(0)
  expect(figures.acknowledged).toBeGreaterThan(20)
}
