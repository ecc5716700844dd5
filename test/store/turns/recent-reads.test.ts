/** The cycles that messages close, by who read whom lately. */
import { expect, test } from 'vitest'
import { recentMs, RecentReads } from '../../../src/store/turns/recent-reads.ts'

/** Reads of a chain: the second agent read the first one, and so on. */
function chain(agents: string[], at = 0): RecentReads {
  const reads = new RecentReads()
  agents.slice(1).forEach((reader, n) => reads.readAuthor('account', reader, agents[n], at))
  return reads
}

const agents = (n: number) => Array.from({ length: n }, (_, i) => `agent-${i}`)

test.each([2, 3, 8])('a cycle of %d agents is found, with all of them', (n) => {
  const all = agents(n)

  const cycle = chain(all).cycle(all[n - 1], all[0], 0)

  expect(cycle?.agents.toSorted()).toEqual(all)
})

test('a longer cycle is not found, nor one in the other direction', () => {
  const all = agents(9)
  expect(chain(all).cycle('agent-8', 'agent-0', 0)).toBeUndefined()
  expect(chain(agents(3)).cycle('agent-0', 'agent-2', 0)).toBeUndefined()
})

test('of two cycles the shorter one is found', () => {
  const reads = chain(['a', 'b', 'c', 'd'])
  reads.readAuthor('account', 'c', 'a', 0)

  expect(reads.cycle('d', 'a', 0)?.agents.toSorted()).toEqual(['a', 'c', 'd'])
})

test('a read counts for ten minutes, and is answered once', () => {
  const reads = chain(['a', 'b'], 1_000)
  expect(reads.cycle('b', 'a', 1_000 + recentMs)).toBeDefined()
  expect(reads.cycle('b', 'a', 1_001 + recentMs)).toBeUndefined()

  reads.cycle('b', 'a', 1_000)!.read.answered++
  expect(reads.cycle('b', 'a', 1_000)).toBeUndefined()

  // What was not answered in time stays unanswered.
  const late = chain(['a', 'b'], 0)
  late.readAuthor('account', 'b', 'a', 2 * recentMs)
  late.cycle('b', 'a', 2 * recentMs)!.read.answered++
  expect(late.cycle('b', 'a', 2 * recentMs)).toBeUndefined()
})

test('a search among agents who all read each other ends', () => {
  const reads = new RecentReads()
  for (const reader of agents(60)) {
    for (const author of agents(60)) if (author !== reader) reads.readAuthor('account', reader, author, 0)
  }

  expect(reads.cycle('agent-0', 'nobody', 0)).toBeUndefined()
})
