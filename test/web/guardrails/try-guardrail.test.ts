/** The form that tries a guardrail on a text. See docs/protocol/guardrails.md, "Trying one". */
import { beforeEach, describe, expect, test } from 'vitest'
import type { Browser } from '../../support/browse.ts'
import { dump } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { guard, kind, secret, testProviders } from '../../support/guarded.ts'
import { activityOf, postWithToken, signedInWithRole } from '../../support/roles.ts'

let grid: TestGrid
let remote: ReturnType<typeof testProviders>['remote']
beforeEach(async () => {
  const providers = testProviders({ timeoutMs: 500 })
  remote = providers.remote
  grid = await testGrid({ guardrailChecks: providers.guardrailChecks })
})

const at = (id: string) => `/accounts/${grid.acme.id}/guardrails/${id}`

/** Tries a guardrail on a text, as the form does. */
async function run(id: string, text: string) {
  return await (await signedInWithRole(grid, 'admin')).submit(at(id), { text }, `${at(id)}/try#try`)
}

test('trying a guardrail shows its objections, their positions and the text to be delivered, and logs only the trial', async () => {
  const id = await guard(grid.acme, 'alice', { name: 'names', direction: 'outbound' })
  const admin = await signedInWithRole(grid, 'admin')
  const before = await dump(grid, grid.acme, ['activity'])

  const posted = { text: `Say ${secret}\r\nor <${secret}>.` }
  const { status, text, html } = await admin.submit(at(id), posted, `${at(id)}/try#try`)

  expect(status).toBe(200)
  expect(text).toContain('It objects to this text')
  expect(text).toContain(kind)
  expect(html).toContain(`Say <mark>${secret}</mark>\nor &lt;<mark>${secret}</mark>&gt;.`)
  expect(html).toContain('Say [redacted]\nor &lt;[redacted]&gt;.')
  expect(text).toMatch(/Time \d+ ms/)
  expect(html).toMatch(new RegExp(`<textarea[^>]*>Say ${secret}\nor`))
  expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
  expect((await activityOf(grid)).at(-1)).toMatchObject({ tool: 'try_guardrail', outcome: 'ok', input: { id } })
  expect(JSON.stringify(await activityOf(grid))).not.toContain(secret)
})

test("trying a guardrail shows its service's raw response, escaped and truncated", async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound', provider: 'webhook' })
  remote.check = () => ({
    kinds: ['<b>bold</b>', 'x'.repeat(500)],
    spans: [{ start: -5, end: 3 }, { start: 2, end: 1e9 }, { start: NaN, end: 4 }],
    replacement: 'rewritten \u202e',
    raw: { html: '<script>alert(1)</script>', long: 'y'.repeat(30_000) },
  })

  const { html, text } = await run(id, 'short text')

  expect(html).toContain('&lt;b&gt;bold&lt;/b&gt;')
  expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(html).not.toMatch(/<script>alert|x{100}|y{25000}/)
  expect(html).toContain('<mark>short text</mark>')
  expect(text).toContain('rewritten')
  expect(html).toContain('<details')
})

test('trying a guardrail whose service does not respond describes the failure', async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound', provider: 'webhook' })
  remote.check = () => new Promise(() => {})

  const { status, text, html } = await run(id, 'still here')

  expect(status).toBe(200)
  expect(text).toContain('It could not check the text')
  expect(text).toContain('The service was not reached, or gave no usable answer in time.')
  expect(html).toContain('still here</textarea>')
})

test('a text that cannot be tried causes an error at its field, and is kept', async () => {
  const id = await guard(grid.acme, 'alice', { direction: 'outbound' })

  const { status, html, text } = await run(id, '\u2063\u2063')

  expect(status).toBe(400)
  expect(text).toContain('The text must have 1 to 250000 characters')
  expect(html).toMatch(/name="text"[^>]*aria-invalid="true"[^>]*autofocus/)
  expect(html).toContain('\u2063\u2063</textarea>')
  // The settings form shows the stored values.
  expect(html).toMatch(/id="name"[^>]*value="alice outbound"/)
  expect(html).toMatch(/name="enabled"[^>]*checked/)
})

describe('a guardrail that is not saved yet', () => {
  const form = () => `/accounts/${grid.acme.id}/guardrails/new/webhook`
  const config = { 'config.url': 'https://judge.example/check' }
  const webhookSecret = `whsec_${btoa('x'.repeat(24))}`
  const tryNew = async (fields: Record<string, string>, by?: Browser) =>
    await postWithToken(by ?? await signedInWithRole(grid, 'admin'), `${form()}/try`, fields)

  test('an unsaved guardrail can be tried, its form keeps all settings except the token, and nothing is stored', async () => {
    remote.check = (text) => ({ kinds: [`saw ${text.text}`], spans: [{ start: 0, end: 4 }] })
    const admin = await signedInWithRole(grid, 'admin')
    const before = await dump(grid, grid.acme, ['activity'])
    const settings = { ...config, name: '', token: webhookSecret, action: 'flag', onFailure: 'open' }

    const { status, text, html } = await tryNew({ ...settings, text: 'what about this' }, admin)

    expect(status).toBe(200)
    expect(text).toContain('It objects to this text')
    expect(text).toContain('saw what about this')
    expect(html).toContain('what about this</textarea>')
    expect(html).toContain('value="https://judge.example/check"')
    expect(html).toMatch(/value="flag"[^>]*checked/)
    expect(html).not.toMatch(/name="enabled"[^>]*checked/)
    expect(text).toContain('It is not kept after a trial: enter it again.')
    expect(html).not.toContain(webhookSecret)
    expect(await dump(grid, grid.acme, ['activity'])).toBe(before)
    const log = await activityOf(grid)
    expect(log.at(-1)).toMatchObject({ tool: 'try_guardrail', outcome: 'ok', input: { provider: 'webhook' } })
    expect(JSON.stringify(log)).not.toMatch(/whsec_|what about/)
  })

  test.each([
    ['text', { ...config, token: webhookSecret, text: '' }, 'The text must have 1 to'],
    ['config.url', { 'config.url': 'nowhere', token: webhookSecret, text: 'x' }, 'Check the marked field.'],
    ['token', { ...config, token: '', text: 'x' }, 'needs a token'],
  ])('trying an unsaved guardrail reports an error at %s only once', async (field, fields, message) => {
    const { status, text, html } = await tryNew(fields)

    expect(status).toBe(400)
    expect(text.split(message)).toHaveLength(2)
    expect(html.match(/[^<]*aria-invalid="true"/g)).toEqual([expect.stringContaining(`name="${field}"`)])
  })
})
