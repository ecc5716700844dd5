import { expect, test } from 'vitest'
import { canonicalJson } from '../../src/lib/encoding.ts'

test.each([
  [{ b: 1, a: { d: [1, 'x', null], c: true } }, '{"a":{"c":true,"d":[1,"x",null]},"b":1}'],
  [{ '\ufb33': 1, '😀': 2, '€': 3, '\r': 4, 1: 5 }, '{"\\r":4,"1":5,"€":3,"😀":2,"\ufb33":1}'],
  [{ n: [1e21, 0.002, -0, 1e-7] }, '{"n":[1e+21,0.002,0,1e-7]}'],
  ['"', '"\\""'],
])('%j is serialized as RFC 8785 requires', (value, text) => {
  expect(canonicalJson(value)).toBe(text)
})
