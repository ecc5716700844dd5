import { expect, test, vi } from 'vitest'
import { lazy, lazyClass } from '../../src/lib/lazy.ts'

test('a property is made when it is first read, once', () => {
  const make = { one: vi.fn(() => ({ n: 1 })), two: vi.fn(() => ({ n: 2 })) }
  const object = lazy(make)

  expect(make.one).not.toHaveBeenCalled()
  expect(object.one).toBe(object.one)
  expect(object.one).toEqual({ n: 1 })
  expect(make.one).toHaveBeenCalledTimes(1)
  expect(make.two).not.toHaveBeenCalled()
})

test('a property that could not be made is tried again', () => {
  const make = vi.fn((): number => {
    if (make.mock.calls.length === 1) throw new Error('not yet')
    return 7
  })
  const object = lazy({ seven: make })

  expect(() => object.seven).toThrow('not yet')
  expect(object.seven).toBe(7)
})

test('objects of one class keep what they made apart', () => {
  const Words = lazyClass<{ word: string }>(['word'])
  const [here, there] = ['here', 'there'].map((place) => new Words((name) => `${name} ${place}`))

  expect([here.word, there.word]).toEqual(['word here', 'word there'])
})
