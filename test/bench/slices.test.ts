import { expect, test } from 'vitest'
import type { ServerProcess } from '../../scripts/bench/server.ts'
import { type Contender, figuresOf, inSlices, ratioOf, rounds } from '../../scripts/bench/slices.ts'
import { nextIteration } from '../../src/lib/next-iteration.ts'

/** A contender that notes each of its slices, and needs 20 us and reads 100 bytes for a request. */
function contender(name: string, noted: string[]): Contender {
  let requests = 0
  const server = { cpuMs: () => requests * 0.02, bytesRead: () => requests * 100, lastOutput: () => '' }
  return {
    name,
    server: server as ServerProcess,
    work: {
      prepare: () => Promise.resolve(void noted.push(name)),
      steps: [async () => {
        requests++
        await new Promise<void>(nextIteration)
      }],
    },
  }
}

test('contenders take turns, each round begins with the next one, and the first round is not counted', async () => {
  const noted: string[] = []

  const [a, b] = await inSlices([contender('a', noted), contender('b', noted)], 0.01)

  expect(noted.slice(0, 6)).toEqual(['a', 'b', 'b', 'a', 'a', 'b'])
  expect(noted).toHaveLength((rounds + 1) * 2)
  expect(a.perSecond).toHaveLength(rounds)
  expect(b.totals).toHaveLength(rounds)
  expect(a.cpuUs).toBeCloseTo(20)
  expect(a.bytesRead).toBeCloseTo(100)
  expect(figuresOf(a)).toMatchObject({ cpuUs: a.cpuUs })
})

test('the ratio of slices is the median of the ratios of the rounds', () => {
  expect(ratioOf([10, 40, 90], [10, 20, 30])).toBe(2)
})

test('a failure names its contender', async () => {
  const broken = contender('broken', [])
  broken.work.steps = [() => Promise.reject(new Error('no answer'))]

  await expect(inSlices([broken], 0.01)).rejects.toThrow('broken: no answer')
})
