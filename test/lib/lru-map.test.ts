import { expect, test } from 'vitest'
import { LruMap } from '../../src/lib/lru-map.ts'

test('an LRU map keeps the entries in use, up to the maximum number', () => {
  const map = new LruMap<string, number>(10)
  map.set('busy', 1)
  for (let n = 0; n < 100; n++) {
    map.set(`key ${n}`, n)
    expect(map.get('busy')).toBe(1)
  }

  expect(map.size).toBe(10)
  expect([map.get('key 90'), map.get('key 91')]).toEqual([undefined, 91])
})

test('an LRU map evicts the least recently used values until the others fit', () => {
  const map = new LruMap<string, number>(100)
  map.set('a', 1, 40)
  map.set('b', 2, 40)
  expect(map.get('a')).toBe(1)

  map.set('c', 3, 60)

  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([1, undefined, 3])
  expect(map.size).toBe(2)
})

test('an LRU map does not count replaced and deleted values, and never stores a value that is too large', () => {
  const map = new LruMap<string, number>(100)
  map.set('a', 1, 90)
  map.set('a', 2, 10)
  map.set('b', 3, 90)
  map.delete('b')
  map.set('c', 4, 90)
  map.set('d', 5, 101)

  expect(['a', 'b', 'c', 'd'].map((key) => map.get(key))).toEqual([2, undefined, 4, undefined])
})
