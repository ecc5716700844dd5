import process from 'node:process'
import { expect, test } from 'vitest'
import { liveGrid } from '../support/server.ts'
import { FuzzClient } from './fuzz/client.ts'
import { corpusOf } from './fuzz/corpus.ts'
import { fuzz, type FuzzFault } from './fuzz/fuzz.ts'
import { unchanged } from './fuzz/mutate.ts'

// `npm run fuzz` sets these for a longer run.
const { FUZZ_REQUESTS, FUZZ_SEED } = process.env
const requests = Number(FUZZ_REQUESTS ?? 1_000)
const seed = Number(FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31))
const testTimeoutMs = 120_000 + requests * 20

test('every door serves requests of the corpus that are not changed', async () => {
  const grid = await liveGrid({ env: { CALLS_PER_SECOND: '0' } })
  const { port, host } = new URL(grid.url)
  const client = new FuzzClient(Number(port))
  const served = new Map<string, boolean>()
  for (const { request } of await corpusOf(grid)) {
    if (request.isLast || served.get(request.door)) continue
    const { status } = await client.send(unchanged(request, host))
    served.set(request.door, status >= 200 && status < 400)
  }
  client.close()
  await grid.close()

  expect([...served].filter(([, isServed]) => !isServed)).toEqual([])
  expect(served.size).toBeGreaterThan(10)
})

test('changed requests over all doors: no 500, no -32603, no crash', async () => {
  console.log(`Seed ${seed}: npm run fuzz -- --requests ${requests} --seed ${seed}`)
  const { faults, answers } = await fuzz(requests, seed, FUZZ_REQUESTS === undefined ? () => {} : console.log)
  for (const [door, byStatus] of Object.entries(answers)) console.log(door, JSON.stringify(byStatus))

  // Otherwise it might test refusals of its own credentials alone.
  const served = Object.entries(answers).filter(([, byStatus]) =>
    Object.keys(byStatus).some((status) => status >= '200' && status < '400')
  )
  const busy = Object.entries(answers).filter(([, byStatus]) => sum(Object.values(byStatus)) >= 30)
  expect(busy.length).toBeGreaterThan(5)
  expect(served.map(([door]) => door)).toEqual(expect.arrayContaining(busy.map(([door]) => door)))

  const kinds = new Map<string, { first: FuzzFault; more: number }>()
  for (const fault of faults) {
    const kind = `${fault.door} ${fault.what.replace(/"(time|requestId)":"[^"]*"/g, '')}`
    const known = kinds.get(kind)
    if (known) known.more++
    else kinds.set(kind, { first: fault, more: 0 })
  }
  expect([...kinds.values()]).toEqual([])
}, testTimeoutMs)

function sum(counts: number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
