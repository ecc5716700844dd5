/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
/** Forms generated from schemas: every kind of field, rendered and parsed. */
import { expect, test } from 'vitest'
import * as z from 'zod'
import { listedProviders } from '../../../src/guardrails/providers.ts'
import { Csrf, Form } from '../../../src/html/form.tsx'
import { type JsonSchema, readSchemaValue, SchemaFields } from '../../../src/web/guardrails/schema-form.tsx'

const everything = z.strictObject({
  word: z.string().max(20),
  policy: z.string().max(4_000).optional(),
  site: z.url().default('https://a.example'),
  count: z.int().min(1).max(9_000),
  share: z.number().min(0).max(1).optional(),
  mode: z.enum(['soft', 'very_hard']).default('soft'),
  kinds: z.array(z.enum(['email', 'api_key'])),
  lines: z.array(z.string()).default([]),
})
const schema = z.toJSONSchema(everything, { io: 'input' }) as JsonSchema

const value = {
  word: 'a "quoted" <word>',
  policy: 'One.\nTwo.',
  site: 'https://b.example',
  count: 12,
  share: 0.25,
  mode: 'very_hard',
  kinds: ['api_key'],
  lines: ['first', 'second one'],
}

const filled: [string, string][] = [
  ['config.word', ' a "quoted" <word> '],
  ['config.policy', 'One.\nTwo.'],
  ['config.site', 'https://b.example'],
  ['config.count', '12'],
  ['config.share', '0.25'],
  ['config.mode', 'very_hard'],
  ['config.kinds', 'api_key'],
  ['config.lines', 'first\n\nsecond one\n'],
]

test('the schemas of all providers use only supported kinds of fields', () => {
  for (const { id, configSchema } of listedProviders) {
    for (const [name, one] of Object.entries((configSchema as JsonSchema).properties ?? {})) {
      expect(['string', 'number', 'integer', 'array'], `${id} ${name}`).toContain(one.type)
      if (one.type === 'array') expect(one.items?.type, `${id} ${name}`).toBe('string')
    }
  }
})

test('a posted form becomes a value that the schema accepts', () => {
  const config = readSchemaValue(schema, new URLSearchParams(filled))

  expect(config).toEqual(value)
  expect(everything.safeParse(config).success).toBe(true)
})

test('empty fields are omitted, and an invalid number is kept as text', () => {
  expect(readSchemaValue(schema, new URLSearchParams({ 'config.count': 'many', 'config.share': '' })))
    .toEqual({ count: 'many', kinds: [], lines: [] })
})

/** Renders the fields of a refused form. */
function posted(values: URLSearchParams, wrong?: string): string {
  const form = { values, errorOf: (name: string) => name === wrong ? 'too long' : undefined }
  const html = String(
    <Csrf.Provider value=''>
      <Form action='/x' posted={form}>
        <SchemaFields schema={schema} stored={{}} />
      </Form>
    </Csrf.Provider>,
  )
  return html.replace(/^.*?name="csrf"[^>]*>|<\/form>$/g, '')
}

test('a refused form shows posted values in the same way as stored ones', () => {
  const shown = String(<SchemaFields schema={schema} stored={value} />)
  const again = posted(new URLSearchParams(filled))

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
    ]
  ) {
    expect(shown).toMatch(part)
    // A refused form shows these two fields as posted. The posted text differs from the stored value.
    if (!/quoted|first/.test(part.source)) expect(again).toMatch(part)
  }
  expect(shown).not.toMatch(/value="email" checked/)
})

test('a new form shows the defaults', () => {
  const shown = String(<SchemaFields schema={schema} stored={undefined} />)

  expect(shown).toMatch(/name="config.site"[^>]*value="https:\/\/a.example"/)
  expect(shown).toMatch(/value="soft" selected/)
})
