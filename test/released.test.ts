/** The interface stays compatible with each release of the same major version. See docs/stability.md. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { version } from '../src/lib/version.ts'
import { breakingChanges, type Interface, type Schema, schemaChanges, schemaOf } from './support/breaking-changes.ts'
import { currentInterface } from './support/interface.ts'

const folder = 'test/fixtures/released/'
const releases = readdirSync(folder).filter((release) => parseInt(release) >= parseInt(version))

/** The accepted breaking changes, as the test prints them, each with its reason, such as a security fix. */
const accepted: Record<string, string> = {}

test('the interface breaks no promise of a release of this major version', async () => {
  const now = await currentInterface()
  const broken = releases.flatMap((release) => {
    const released: Interface = JSON.parse(readFileSync(`${folder}${release}/interface.json`, 'utf8'))
    return breakingChanges(released, now).map((change) => `${release}: ${change}`)
  })

  expect(broken.filter((change) => !Object.hasOwn(accepted, change))).toEqual([])
  expect(releases).not.toEqual([])
})

const text = { type: 'string' }
const object = (properties: Record<string, Schema>, ...required: string[]) => ({ type: 'object', properties, required })

test.each<[what: string, before: Schema, after: Schema, input: string[], answer: string[]]>([
  ['the same', object({ a: text }, 'a'), object({ a: text }, 'a'), [], []],
  ['a new optional field', object({}), object({ a: text }), [], []],
  ['a new required field', object({}), object({ a: text }, 'a'), ['a is required'], []],
  ['a field that is gone', object({ a: text }, 'a'), object({}), ['a is gone'], ['a is gone']],
  ['a field that became optional', object({ a: text }, 'a'), object({ a: text }), [], ['a may be missing']],
  ['another type', text, { type: 'integer' }, ['string is integer now'], ['string is integer now']],
  ['a wider number', { type: 'integer' }, { type: 'number' }, [], ['integer is number now']],
  ['another type, or null', text, { type: ['string', 'null'] }, [], ['string is null now']],
  ['no null any more', { anyOf: [text, { type: 'null' }] }, text, ['null is string now'], []],
  ['fewer values', { enum: ['a', 'b'] }, { enum: ['a'] }, ['no longer takes b'], []],
  ['more values', { enum: ['a'] }, { enum: ['a', 'b'] }, [], []],
  ['values, then any text', { ...text, enum: ['a'] }, text, [], ['may be any other value']],
  ['any text, then values', text, { ...text, enum: ['a'] }, ['no longer takes any other value'], []],
  ['a lower maximum', { maximum: 9 }, { maximum: 8 }, ['maximum was 9 and is 8'], []],
  ['a higher maximum', { maxLength: 8 }, { maxLength: 9 }, [], ['maxLength was 8 and is 9']],
  ['a new limit', text, { ...text, minLength: 1 }, ['minLength was none and is 1'], []],
  ['a higher minimum', { minItems: 1 }, { minItems: 2 }, ['minItems was 1 and is 2'], []],
  ['a new pattern', text, { ...text, pattern: 'a' }, ['pattern was none and is a'], []],
  ['no format any more', { ...text, format: 'uri' }, text, [], ['format was uri and is none']],
  ['another default', { default: 1 }, { default: 2 }, ['the default was 1 and is 2'], ['the default was 1 and is 2']],
  ['no other fields', {}, { additionalProperties: false }, ['takes no other fields'], []],
  ['other entries', { additionalProperties: text }, { additionalProperties: {} }, [], ['* string is anything now']],
  [
    'a field in the entries of a list',
    object({ list: { type: 'array', items: object({ a: text }, 'a') } }),
    object({ list: { type: 'array', items: object({}) } }),
    ['list.[] a is gone'],
    ['list.[] a is gone'],
  ],
])('the comparison of schemas finds: %s', (_, before, after, input, answer) => {
  expect(schemaChanges(before, after, 'input')).toEqual(input)
  expect(schemaChanges(before, after, 'answer')).toEqual(answer)
})

test('removing a call, field or name is a breaking change, even behind a reference, and adding one is not', () => {
  const before: Interface = {
    inputs: { 'tool a': object({}), 'tool b': object({}) },
    answers: { 'tool b': { $ref: '#/components/schemas/B' } },
    lists: { errors: ['404 not_found'] },
    schemas: { B: object({ id: text }, 'id') },
  }

  expect(breakingChanges(before, { inputs: { 'tool b': {} }, answers: {}, lists: { errors: [] }, schemas: {} }))
    .toEqual([
      'tool a: is gone',
      'tool b: is gone',
      'errors: 404 not_found is gone',
    ])
  expect(breakingChanges(before, { ...before, schemas: { B: object({}) } })).toEqual(['tool b: id is gone'])
  const more = {
    inputs: { c: {} },
    answers: { c: {} },
    lists: { errors: ['500 internal'], settings: ['A = 1'] },
    schemas: {},
  }
  expect(breakingChanges({ inputs: {}, answers: {}, lists: {}, schemas: {} }, more)).toEqual([])
  expect(() => schemaChanges({ allOf: [] }, {}, 'input')).toThrow('does not know the keyword allOf')
})

test('a schema derived from values requires only members that all values have', () => {
  expect(schemaOf([{ a: 1, list: [{ b: 'x' }] }, { a: null }])).toEqual(
    object(
      {
        a: { type: ['integer', 'null'] },
        list: { type: 'array', items: object({ b: text }, 'b') },
      },
      'a',
    ),
  )
})
