import process from 'node:process'
import { expect, test } from 'vitest'
import { buildBinary, removeBinary } from '../support/binary.ts'
import { type Runner, runtimes } from '../support/process.ts'
import { keepFigures } from '../support/proof-log.ts'
import { chaos, type ChaosOptions, fullTrials, noOutsideFaults, soundDatabase } from './chaos/chaos.ts'
import { noFaults } from './chaos/ledger.ts'

// `npm run chaos` sets these variables for a longer run.
const { CHAOS_SECONDS, CHAOS_SEED, CHAOS_RUNTIMES, CHAOS_DATABASE, CHAOS_WEBHOOK } = process.env
const seconds = CHAOS_SECONDS === undefined ? undefined : Number(CHAOS_SECONDS)
const seed = Number(CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 32))
const chosenRuntimes = CHAOS_RUNTIMES === undefined ? runtimes : CHAOS_RUNTIMES.split(',') as Runner[]
const isLocalFile = CHAOS_DATABASE === 'file'
// A longer run has no timeout, because it takes as long as the machine needs.
const testTimeoutMs = seconds === undefined ? 120_000 : 0

// Only in the long form, because the next test also kills processes.
test.skipIf(seconds === undefined || isLocalFile)(
  'three processes killed at random lose nothing, duplicate nothing, and keep the order',
  async () => {
    await expectPromises({ seconds: seconds ?? 6, killDatabase: false })
  },
  testTimeoutMs,
)

test.skipIf(isLocalFile)(
  'processes killed at random keep all guarantees when the libsql-server is killed too',
  async () => {
    await expectPromises({ seconds: seconds ?? 4, killDatabase: true })
  },
  testTimeoutMs,
)

if (isLocalFile) {
  test.each(chosenRuntimes)(
    'on %s, a process on a local file that is killed at random keeps all guarantees',
    async (runtime) => {
      if (runtime === 'binary') await buildBinary()
      await expectPromises({ seconds: seconds ?? 6, killDatabase: false, isLocalFile, runtimes: [runtime] })
      if (runtime === 'binary') removeBinary()
    },
    testTimeoutMs,
  )
}

async function expectPromises(
  options: Pick<ChaosOptions, 'seconds' | 'killDatabase'> & Partial<ChaosOptions>,
): Promise<void> {
  console.log(`Seed ${seed}: npm run chaos -- --seconds ${options.seconds} --seed ${seed}`)
  const { faults, outside, trials, database, figures } = await chaos({
    seed,
    runtimes: chosenRuntimes,
    hasWebhook: CHAOS_WEBHOOK !== 'no',
    // A dead process's leases are released after a minute, or at the next start on a local file. A short run does not
    // wait for that.
    releasedWithinMs: seconds === undefined ? undefined : isLocalFile ? 45_000 : 120_000,
    ...options,
  })
  console.log(JSON.stringify(figures))

  expect(faults).toEqual(noFaults)
  expect(outside).toEqual(noOutsideFaults)
  expect(trials).toEqual(fullTrials)
  expect(database).toEqual(soundDatabase)
  expect(figures.kills).toBeGreaterThan(0)
  expect(figures.acknowledged).toBeGreaterThan(20)
  const { kills, acknowledged, leased, taskSteps, arrived } = figures
  const on = isLocalFile ? `file, ${options.runtimes}` : 'libsql-server'
  keepFigures('chaos', on, seed, { kills, acknowledged, leased, taskSteps, ...arrived })
}
