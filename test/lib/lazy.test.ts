import { expect, test, vi } from 'vitest'
import { lazy } from '../../src/lib/lazy.ts'

test('a property is made when it is first read, once', () => {
  const make = { one: vi.fn(() => ({ n: 1 })), two: vi.fn(() => ({ n: 2 })) }
  const object = lazy(make)

  expect(make.one).not.toHaveBeenCalled()
  expect(object.one).toBe(object.one)
  expect(make.one).toHaveBeenCalledTimes(1)
  expect(make.two).not.toHaveBeenCalled()
})
