import process from 'node:process'
import { expect, test } from 'vitest'
import type { Runtime } from '../support/process.ts'
import { noFaults } from './chaos/ledger.ts'
import { faults, kinds } from './faults/faults.ts'

// `npm run faults` sets these variables for a longer run.
const { FAULTS_ROUNDS, FAULTS_SEED, FAULTS_RUNTIME } = process.env
const rounds = Number(FAULTS_ROUNDS ?? kinds.length)
const seed = Number(FAULTS_SEED ?? Math.floor(Math.random() * 2 ** 32))
const runtime = (FAULTS_RUNTIME ?? 'node') as Runtime

test(
  'kills, a full disk, I/O errors and clock jumps lose nothing, duplicate nothing, and keep the order',
  async () => {
    console.log(`Seed ${seed}: npm run faults -- --rounds ${rounds} --seed ${seed} --runtime ${runtime}`)
    const { found, exits, database, differences, figures } = await faults({ seed, rounds, runtime })
    console.log(JSON.stringify(figures))

    expect(found).toEqual(noFaults)
    expect(exits).toEqual([])
    expect(database).toEqual(['ok'])
    expect(differences).toEqual([])
    expect(figures.acknowledged).toBeGreaterThan(10)
  },
  120_000 + rounds * 20_000,
)
