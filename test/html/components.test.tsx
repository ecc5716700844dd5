/** @jsxRuntime automatic */
/** @jsxImportSource hono/jsx */
import { describe, expect, test } from 'vitest'
import { GridError } from '../../src/errors.ts'
import { AgentIcon } from '../../src/html/agent-icon.tsx'
import { BarChart } from '../../src/html/chart.tsx'
import { Badge, timeInWords } from '../../src/html/components.tsx'
import { TextInput } from '../../src/html/fields.tsx'
import { Csrf } from '../../src/html/form.tsx'
import { barePage } from '../../src/html/layout.tsx'
import { ConfirmDelete, CopyBlock } from '../../src/html/secrets.tsx'
import { htmlError } from '../../src/wire.ts'

const minute = 60_000
const day = 24 * 60 * minute
const now = Date.parse('2026-11-21T15:24:00Z')

test.each([
  [0, 'just now'],
  [59_999, 'just now'],
  [minute, '1 min ago'],
  [59.9 * minute, '59 min ago'],
  [60 * minute, '1 h ago'],
  [23.9 * 60 * minute, '23 h ago'],
  [day, '1 d ago'],
  [6.9 * day, '6 d ago'],
  [7 * day, '14 Nov 2026'],
  [320 * day, '5 Jan 2026'],
  [-1, 'in a moment'],
  [-90 * minute, 'in 1 h'],
])('a time %i ms ago is shown as "%s"', (distance, words) => {
  expect(timeInWords(now - distance, now, 'UTC')).toBe(words)
})

test('the same alias always has the same icon, and different aliases have different icons', () => {
  const icon = (alias: string) => String(<AgentIcon alias={alias} />)
  const aliases = Array.from({ length: 200 }, (_, index) => `agent-${index}`)

  expect(icon('alice')).toBe(icon('alice'))
  expect(new Set(aliases.map(icon)).size).toBe(200)
})

test('a field is connected to its label, hint and error', () => {
  const field = String(<TextInput name='alias' label='Alias' hint='3 to 32' error='Taken' isRequired isMono />)

  expect(field).toContain('<label for="alias">Alias</label>')
  expect(field).toMatch(/<input id="alias" name="alias" required="" aria-describedby="alias-hint alias-error" aria-inv/)
  expect(field).toContain('spellcheck="false"')
  expect(field).toMatch(/id="alias-hint">3 to 32<.*id="alias-error".*Taken/)
})

describe('hostile text in components', () => {
  const hostile = `"><script>alert(1)</script><img src=x onerror='x'>`

  test('every component escapes hostile text', () => {
    const rendered = String(
      <Csrf.Provider value={hostile}>
        <Badge>{hostile}</Badge>
        <AgentIcon alias={hostile} />
        <CopyBlock id='x' label={hostile} text={hostile} />
        <TextInput name='x' label={hostile} value={hostile} hint={hostile} error={hostile} placeholder={hostile} />
        <ConfirmDelete action='/x' question={hostile} fields={{ x: hostile }} />
        <BarChart id='x' title={hostile} unit='hour' series={[{ name: hostile, colour: 'accent' }]} bars={[]} />
      </Csrf.Provider>,
    )

    expect(rendered).not.toMatch(/<script|<img/)
    expect(rendered).toContain('&lt;script&gt;')
  })
})

test("form-action allows only an origin or a scheme in addition to the page's own", async () => {
  const formAction = async (formTarget?: string) => {
    const { headers } = await barePage({ title: 'x', formTarget }, 'x')
    return headers.get('content-security-policy')!.match(/form-action ([^;]*)/)![1]
  }

  expect(await formAction()).toBe("'self'")
  expect(await formAction('http://localhost:33418/callback?x=;script-src *')).toBe("'self' http://localhost:33418")
  expect(await formAction('cursor://anysphere.cursor/callback')).toBe("'self' cursor:")
})

test('an error becomes a page with its status and headers', async () => {
  const response = await htmlError(new GridError('rate_limit_exceeded', 'Too many.', { retryAfterSeconds: 7 }))

  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7'])
  expect(await response.text()).toContain('<p>Too many.</p>')
})
