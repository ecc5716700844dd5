/** How arguments written by models and programs are interpreted. See docs/protocol/README.md, "Arguments". */
import { expect, test } from 'vitest'
import { type ArgumentSchema, readArguments } from '../../src/lib/given-arguments.ts'

const schema: ArgumentSchema = {
  properties: {
    to: { type: 'string' },
    message: { type: 'string' },
    wait_seconds: { type: 'integer', maximum: 50 },
    expires_in_seconds: { type: 'integer', maximum: 604_800 },
    public: { type: 'boolean' },
    parts: { type: 'array', items: { type: 'object' } },
    choices: { type: 'array', items: { type: 'string' } },
    artifact: { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' } }, required: ['id'] },
    token: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    skills: {
      type: 'array',
      items: {
        anyOf: [
          { type: 'string' },
          {
            type: 'object',
            properties: { name: { type: 'string' }, description: { type: 'string' } },
            required: ['name'],
          },
        ],
      },
    },
    acks: { type: 'object', properties: { lease_id: { type: 'string' }, message_ids: { type: 'array' } } },
  },
  required: ['to'],
}

const read = (given: Record<string, unknown>, isStrict = false) =>
  readArguments(schema, given, { call: 'call', isStrict })

test.each([
  [{ message: null, wait_seconds: '', parts: null, choices: '' }, {}],
  [{ to: '' }, { to: '' }],
  [{ token: null }, { token: null }],
  [{ token: '' }, { token: '' }],
  [{ acks: { lease_id: '' } }, { acks: { lease_id: '' } }],
  [{ artifact: { id: 'a', name: null } }, { artifact: { id: 'a' } }],
  [{ acks: { lease_id: null } }, { acks: { lease_id: null } }],
  [{ acks: null }, {}],
  [{ skills: ['a', null, { name: 'b', description: null }] }, { skills: ['a', null, { name: 'b' }] }],
  [{ skills: [{ name: '', description: '' }] }, { skills: [{ name: '' }] }],
  [{ parts: [{ data: null, filename: '' }] }, { parts: [{ data: null, filename: '' }] }],
  [{ wait_seconds: '30', public: 'TRUE' }, { wait_seconds: 30, public: true }],
  [{ wait_seconds: 'soon', public: 'yes' }, { wait_seconds: 'soon', public: 'yes' }],
  [{ wait_seconds: '-1' }, { wait_seconds: -1 }],
  [{ to: '5', message: '[1]' }, { to: '5', message: '[1]' }],
  [{ parts: '[{"text":"hi"}]', artifact: ' {"id":"a"} ' }, { parts: [{ text: 'hi' }], artifact: { id: 'a' } }],
])('the arguments %j are read as %j without remarks', (given, args) => {
  expect(read(given)).toEqual({ args, remarks: {} })
})

test('a number above its maximum is clipped, and the change is reported', () => {
  expect(read({ wait_seconds: '600', expires_in_seconds: 1e9 })).toEqual({
    args: { wait_seconds: 50, expires_in_seconds: 604_800 },
    remarks: { clipped: { wait_seconds: 50, expires_in_seconds: 604_800 } },
  })
})

test.each([['parts', 'hi'], ['parts', '{"text":"hi"}'], ['parts', { text: 'hi' }], ['parts', '[{"__proto__":1}]']])(
  'the argument %s: %j is refused with the expected form',
  (name, value) => {
    expect(() => read({ [name]: value })).toThrow('parts must be an array, such as [{"text":"…"}].')
  },
)

test('null for a list of message ids does not mean all messages', () => {
  expect(() => read({ acks: { lease_id: 'x', message_ids: null } })).toThrow('acks.message_ids must be an array')
})

test('the expected form in an error comes from the schema', () => {
  expect(() => read({ choices: 'yes' })).toThrow('choices must be an array, such as ["…"].')
  expect(() => read({ artifact: 'a' })).toThrow('artifact must be an object, such as {"id":"…"}.')
})

test.each([
  ['mesage', 'message'],
  ['waitSeconds', 'wait_seconds'],
  ['WAIT-SECONDS', 'wait_seconds'],
  ['expires_in', 'expires_in_seconds'],
  ['part', 'parts'],
])('for the unknown argument %s, the error suggests %s', (name, meant) => {
  expect(() => read({ [name]: 'x' })).toThrow(`call has no argument ${name}. Did you mean ${meant}?`)
})

test('unknown arguments that resemble no name are ignored and reported', () => {
  expect(read({ to: '@bob', cc: '@carol', toString: 1, subject: '', id: null })).toEqual({
    args: { to: '@bob' },
    remarks: { ignored: ['cc', 'toString', 'subject'] },
  })
})

test('an unknown argument that resembles no name is refused if a required argument is missing', () => {
  expect(() => read({ cc: '@carol' })).toThrow('call has no argument cc, and to is missing.')
})

test('strict mode refuses every unknown argument', () => {
  expect(() => read({ dry_run: true }, true)).toThrow('call has no argument dry_run. It takes to, message, ')
})
