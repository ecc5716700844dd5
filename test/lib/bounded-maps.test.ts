import { expect, test } from 'vitest'
import { RecentMap, SizedMap } from '../../src/lib/bounded-maps.ts'

test('as many entries as promised are kept, at most twice as many, and those in use always', () => {
  const map = new RecentMap<string, number>(10)
  map.set('busy', 1)
  for (let n = 0; n < 1_000; n++) {
    map.set(`key ${n}`, n)
    expect(map.get('busy')).toBe(1)
    expect(map.size).toBeLessThanOrEqual(20)
    if (n >= 3) expect(map.get(`key ${n - 3}`)).toBe(n - 3)
  }

  expect(map.get('key 0')).toBeUndefined()
})

test('a deleted entry is gone from both generations, and a set one has its new value', () => {
  const map = new RecentMap<string, number>(2)
  for (const key of ['a', 'b', 'c']) map.set(key, 1)
  map.set('a', 2)
  expect(map.get('a')).toBe(2)
  map.delete('a')
  map.delete('b')

  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([undefined, undefined, 1])
})

test('forgets what was not used for longest, until the rest is small enough', () => {
  const map = new SizedMap<string, number>(100)
  map.set('a', 1, 40)
  map.set('b', 2, 40)
  expect(map.get('a')).toBe(1)

  map.set('c', 3, 60)

  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([1, undefined, 3])
  expect(map.size).toBe(2)
})
