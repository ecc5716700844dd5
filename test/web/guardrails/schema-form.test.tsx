/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Forms made from schemas: every kind of field, there and back. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { listedProviders, providers } from '../../../src/guardrails/providers.ts'
import { labelOf, type Schema, SchemaFields, sent } from '../../../src/web/guardrails/schema-form.tsx'

const everything = z.strictObject({
  word: z.string().max(20),
  policy: z.string().max(4_000).optional(),
  site: z.url().default('https://a.example'),
  count: z.int().min(1).max(9_000),
  share: z.number().min(0).max(1).optional(),
  isStrict: z.boolean().default(true),
  mode: z.enum(['soft', 'very_hard']).default('soft'),
  maybe: z.enum(['a', 'b']).optional(),
  kinds: z.array(z.enum(['email', 'api_key'])),
  lines: z.array(z.string()).default([]),
  nested: z.strictObject({ url: z.string().describe('Where it is.'), deep: z.strictObject({ on: z.boolean() }) }),
})
const schema = z.toJSONSchema(everything, { io: 'input' }) as Schema

const value = {
  word: 'a "quoted" <word>',
  policy: 'One.\nTwo.',
  site: 'https://b.example',
  count: 12,
  share: 0.25,
  isStrict: false,
  mode: 'very_hard',
  maybe: 'b',
  kinds: ['api_key'],
  lines: ['first', 'second one'],
  nested: { url: 'x', deep: { on: true } },
}

const filled: [string, string][] = [
  ['config.word', ' a "quoted" <word> '],
  ['config.policy', 'One.\nTwo.'],
  ['config.site', 'https://b.example'],
  ['config.count', '12'],
  ['config.share', '0.25'],
  ['config.mode', 'very_hard'],
  ['config.maybe', 'b'],
  ['config.kinds', 'api_key'],
  ['config.lines', 'first\n\nsecond one\n'],
  ['config.nested.url', 'x'],
  ['config.nested.deep.on', 'on'],
]

test('what is filled in becomes the value that the schema takes', () => {
  const config = sent(schema, new URLSearchParams(filled), 'config')

  expect(config).toEqual(value)
  expect(everything.safeParse(config).success).toBe(true)
})

test('an empty form leaves out what was not filled in, and what is no number stays text', () => {
  expect(sent(schema, new URLSearchParams({ 'config.count': 'many', 'config.share': '' }), 'config')).toEqual({
    count: 'many',
    isStrict: false,
    kinds: [],
    lines: [],
    nested: { deep: { on: false } },
  })
})

test('a value is shown in its fields, and again as it was posted', () => {
  const shown = String(<SchemaFields schema={schema} path='config' value={value} />)
  const again = String(<SchemaFields schema={schema} path='config' value={{}} posted={new URLSearchParams(filled)} />)

  expect(again).toBe(shown)
  for (
    const part of [
      /name="config.word"[^>]*value="a &quot;quoted&quot; &lt;word&gt;"/,
      /<textarea[^>]*name="config.policy"[^>]*>One.\nTwo.</,
      /name="config.site"[^>]*type="url" value="https:\/\/b.example"/,
      /name="config.count"[^>]*type="number" value="12"[^>]*min="1" max="9000" step="1"/,
      /name="config.share"[^>]*value="0.25"[^>]*step="any"/,
      /value="very_hard" selected/,
      /name="config.kinds" value="api_key" checked/,
      />first\nsecond one</,
      /<legend>Nested<\/legend>/,
      /name="config.nested.url"[^>]*value="x"/,
      /name="config.nested.deep.on"[^>]*checked/,
    ]
  ) expect(shown).toMatch(part)
  expect(shown).not.toMatch(/name="config.isStrict"[^>]*checked/)
  expect(shown).not.toMatch(/value="email" checked/)
})

test('a new form shows the defaults', () => {
  const shown = String(<SchemaFields schema={schema} path='config' value={undefined} />)

  expect(shown).toMatch(/name="config.site"[^>]*value="https:\/\/a.example"/)
  expect(shown).toMatch(/name="config.isStrict"[^>]*checked/)
  expect(shown).toMatch(/value="soft" selected/)
})

test('a fault stands at its field, also when it is about one line of it', () => {
  const fault = { field: 'config.lines.1', text: 'too long' }
  const shown = String(<SchemaFields schema={schema} path='config' value={value} fault={fault} />)

  expect(shown.match(/aria-invalid/g)).toHaveLength(1)
  expect(shown).toMatch(/name="config.lines"[^>]*aria-invalid="true"/)
})

test.each(listedProviders.map((provider) => [provider.id, provider] as const))(
  'every field of %s is of a kind that the form knows',
  (id, { configSchema }) => {
    for (const [name, { type }] of Object.entries((configSchema as Schema).properties ?? {})) {
      expect(['string', 'number', 'integer', 'boolean', 'array', 'object'], `${id}.${name}`).toContain(type)
    }
    expect(providers.some((provider) => provider.id === id)).toBe(true)
  },
)

test.each([['maxCharacters', 'Max characters'], ['national_id', 'National ID'], ['baseUrl', 'Base URL'], ['x', 'X']])(
  '%s is called %s',
  (name, label) => expect(labelOf(name)).toBe(label),
)
