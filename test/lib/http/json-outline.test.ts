import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonOutline } from '../../../src/lib/http/json-outline.ts'

test('the scalars of an object are read, and what is nested is left out', () => {
  const text =
    ' {"id": -1.5e3, "a": {"id": 2, "b": [1, {}]}, "t\\u0065xt": "\\"\\\\\\n", "yes": true, "none": null, "l": []} '

  expect(jsonOutline(text)).toEqual({ id: -1500, text: '"\\\n', yes: true, none: null })
})

test('names of prototypes are members as any other', () => {
  const outline = jsonOutline('{"__proto__": 1, "constructor": 2, "id": 3}')

  expect(Object.entries(outline!)).toEqual([['__proto__', 1], ['constructor', 2], ['id', 3]])
})

test.each(['[]', '1', '"text"', 'null', '[{"id":1}]', `${'['.repeat(100_000)}${']'.repeat(100_000)}`])(
  'other JSON has no members',
  (text) => {
    expect(jsonOutline(text)).toEqual([])
  },
)

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
