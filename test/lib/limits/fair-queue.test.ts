import { expect, test } from 'vitest'
import { FairQueue } from '../../../src/lib/limits/fair-queue.ts'

test('a fair queue serves keys in turn, and the entries of each key in order', () => {
  const queue = new FairQueue<number>()
  queue.add('a', 1, 2, 3)
  queue.add('b', 4)
  queue.add('c', 5, 6)

  expect(queue.next()).toEqual(['a', 1])
  queue.add('d', 7)
  expect([queue.size, queue.keys, queue.count('a')]).toEqual([6, 4, 2])
  expect(Array.from({ length: 7 }, () => queue.next()?.[1])).toEqual([4, 5, 2, 7, 6, 3, undefined])
  expect([queue.size, queue.keys]).toEqual([0, 0])
})

test('entries can be removed from either end of a fair queue, which skips a key without entries', () => {
  const queue = new FairQueue<number>()
  queue.add('a', 1, 5)
  queue.add('b', 2, 3, 4)
  expect(queue.longest()).toBe('b')

  expect(queue.removeNewest('b')).toBe(4)
  expect(queue.removeOldest((entry) => entry < 3)).toEqual([1, 2])
  expect(queue.removeAll('a')).toEqual([5])
  expect([queue.size, queue.next(), queue.next(), queue.longest()]).toEqual([1, ['b', 3], undefined, undefined])
})
