import { expect, test } from 'vitest'
import { ConcurrencyLimit } from '../../src/lib/concurrency-limit.ts'

test('a key holds at most its limit, and releasing a slot twice frees it once', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, total: 9 })
  const release = limit.acquire('a')!
  limit.acquire('a')
  expect([limit.hasCapacity('a'), limit.acquire('a'), limit.hasCapacity('b')]).toEqual([false, undefined, true])
  release()
  release()

  expect([limit.hasCapacity('a'), limit.count]).toEqual([true, 1])
})

test('all keys together hold at most the total', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, total: 2 })
  limit.acquire('a')
  limit.acquire('b')

  expect([limit.acquire('c'), limit.acquireOrEvictOldest('c', () => {})]).toEqual([undefined, undefined])
})

test('the holder of the oldest slot is told when it is evicted', () => {
  const limit = new ConcurrencyLimit({ perKey: 2, total: 2 })
  const evicted: number[] = []
  for (const n of [1, 2, 3]) limit.acquireOrEvictOldest('a', () => evicted.push(n))

  expect([evicted, limit.count]).toEqual([[1], 2])
})
