/** What the local guardrails leave out for a short time: the answers stay the same. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { charSet, hasRun } from '../../../src/guardrails/local/runs.ts'
import { hasAny, kinds, traitsOf } from '../../../src/guardrails/local/traits.ts'

test('a run is found wherever it begins', () => {
  const chars = charSet(/[ab]/)
  fc.assert(fc.property(
    fc.array(fc.constantFrom('a', 'b', 'aaaa', 'ababab', '-', 'é')).map((parts) => parts.join('')),
    fc.integer({ min: 1, max: 8 }),
    (text, length) => {
      expect(hasRun(text, chars, length)).toBe(new RegExp(`[ab]{${length}}`).test(text))
      expect(hasRun(text, chars, length, true)).toBe(new RegExp(`[abé]{${length}}`).test(text))
    },
  ))
})

test('the traits of a text are those that expressions find', () => {
  const shapes = {
    digit: /\d/,
    escape: /[&%\\]/,
    at: /@/,
    tag: /</,
    bracket: /[([{]/,
    control: /[\p{Cc}--[\x80-\xff]]/v,
    other: /[^\0-\x7f]/,
  }
  const parts = fc.oneof(
    fc.constantFrom(...'17aZ -&%\\@<[({\0\x7fé', '     ', '      '),
    fc.string({ unit: 'binary' }),
  )
  fc.assert(fc.property(fc.array(parts).map((parts) => parts.join('')), (text) => {
    for (const [kind, shape] of Object.entries(shapes)) {
      expect(hasAny(text, kinds[kind as keyof typeof kinds]), kind).toBe(shape.test(text))
    }
    const clusters = text.match(/\d(?:[^\d]{0,5}\d)*/g) ?? []
    expect(traitsOf(text).digits).toBe(Math.max(0, ...clusters.map((digits) => digits.replace(/\D/g, '').length)))
    expect(traitsOf(text).hasNumberedLetter).toBe(/[A-Za-z\u0080-\uffff]\d/.test(text))
    const units = text.split('').map((unit) => unit.charCodeAt(0))
    expect([...traitsOf(text).units.subarray(0, text.length)]).toEqual(units)
  }))
})
