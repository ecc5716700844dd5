import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonOutline } from '../../../src/lib/http/json-outline.ts'

test('a text is JSON exactly if the parser of the language says so', () => {
  const json = fc.json().map((text) => text)
  const changed = fc.tuple(
    json,
    fc.nat(60),
    fc.constantFrom('', ',', ':', '"', '\\', '{', '}', '[', ']', '0', '-', ' ', '\n', 't'),
  )
    .map(([text, at, char]) => text.slice(0, at % (text.length + 1)) + char + text.slice(at % (text.length + 1) + 1))

  fc.assert(
    fc.property(fc.oneof(json, changed, fc.string()), (text) => {
      expect(jsonOutline(text) !== undefined).toBe(isJson(text))
    }),
    { numRuns: 3_000 },
  )
})

test('the outline of an object has its scalars', () => {
  fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })), (object) => {
    const scalars = Object.entries(object).filter(([, value]) => typeof value !== 'object' || value === null)

    expect(jsonOutline(JSON.stringify(object))).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(scalars))))
  }))
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
