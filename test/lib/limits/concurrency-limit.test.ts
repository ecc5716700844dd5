import { expect, test } from 'vitest'
import { ConcurrencyLimit } from '../../../src/lib/limits/concurrency-limit.ts'

test('the slots of a key are limited, and releasing a slot twice frees it only once', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, perGroup: 9, total: 9 })
  const release = limit.acquire('a', 'g')!
  limit.acquire('a', 'g')
  expect([limit.reached('a', 'g') === undefined, limit.acquire('a', 'g'), limit.reached('b', 'g') === undefined])
    .toEqual([
      false,
      undefined,
      true,
    ])
  release()
  release()

  expect([limit.reached('a', 'g') === undefined, limit.count]).toEqual([true, 1])
})

test('the slots of all keys together are limited', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, perGroup: 2, total: 2 })
  limit.acquire('a', 'g')
  limit.acquire('b', 'h')

  expect([limit.acquire('c', 'i'), limit.acquireOrEvictOldest('c', 'i', () => {})]).toEqual([undefined, undefined])
})

test('the slots of a group of keys are limited, separately from other groups', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, perGroup: 3, total: 9 })
  const releases = ['a', 'a', 'b'].map((key) => limit.acquire(key, 'g')!)
  expect([limit.acquire('b', 'g'), limit.acquireOrEvictOldest('c', 'g', () => {})]).toEqual([undefined, undefined])
  expect(limit.reached('d', 'h') === undefined).toBe(true)
  releases[2]()

  expect(limit.reached('b', 'g') === undefined).toBe(true)
})

test('evicting the oldest slot notifies its holder', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, perGroup: 2, total: 2 })
  const evicted: number[] = []
  for (const n of [1, 2, 3]) limit.acquireOrEvictOldest('a', 'g', () => evicted.push(n))

  expect([evicted, limit.count]).toEqual([[1], 2])
})
