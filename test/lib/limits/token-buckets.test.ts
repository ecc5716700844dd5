import { expect, test } from 'vitest'
import { TokenBuckets } from '../../../src/lib/limits/token-buckets.ts'

test.each([
  ['2 a second', 2, 3, 500],
  ['3 a second', 3, 100, 334],
  ['120 a minute', 2, 120, 500],
  ['1 a minute', 1 / 60, 1, 60_000],
  ['100,000 a second', 100_000, 1_000, 1],
])('a bucket of %s allows the burst, then nothing until the next token', (_, perSecond, burst, refillMs) => {
  const buckets = new TokenBuckets({ perSecond, burst })
  for (let n = 0; n < burst; n++) expect(buckets.take('a', 0)).toBe(0)

  expect(buckets.take('a', 0)).toBe(Math.max(1, Math.ceil(1 / perSecond)))
  expect(buckets.take('a', refillMs - 1)).toBeGreaterThan(0)
  expect(buckets.take('a', refillMs)).toBe(0)
})

test('a caller that waits for the stated time is served, and a bucket holds at most the burst', () => {
  const buckets = new TokenBuckets({ perSecond: 0.3, burst: 2 })
  const takeAll = (now: number) => {
    let count = 0
    while (buckets.take('a', now) === 0) count++
    return count
  }
  expect(takeAll(0)).toBe(2)
  const wait = buckets.take('a', 0)

  expect([wait, takeAll(wait * 1_000)]).toEqual([4, 1])
  expect(takeAll(1_000_000)).toBe(2)
})

test('a clock that is set back neither fills nor locks a bucket', () => {
  const buckets = new TokenBuckets({ perSecond: 1, burst: 1 })
  buckets.take('a', 100_000)

  expect([buckets.take('a', 50_000), buckets.take('a', 50_999), buckets.take('a', 51_000)]).toEqual([1, 1, 0])
})
