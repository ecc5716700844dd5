/** Trying a guardrail on a text (docs/protocol/guardrails.md, "Trying one"). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGuardrail, updateGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { tryGuardrail } from '../../../src/grid/guardrails/try-guardrail.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { dump } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { answering, onlyRequest, type Service, startService } from '../../support/guardrail-services.ts'

const flagged = { id: 'modr-1', results: [{ flagged: true, categories: { hate: true }, category_scores: { hate: 1 } }] }
const token = 'sk-canary-of-a-token'
const text = 'canary of a text'

let grid: TestGrid
let service: Service
beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  service = await answering(flagged)
})
afterEach(async () => {
  await service.close()
})

const moderation = () => ({ provider: 'openai-moderation', config: { baseUrl: service.url }, token })
const asAdmin = (): AccountStore =>
  grid.store.account(grid.acme.id, { type: 'admin', credentialId: 'key', credentialKind: 'admin_key', userId: null })

test.each(['name', 'id'] as const)('a guardrail can be tried by its %s, even while it is disabled', async (by) => {
  const { id, name } = await createGuardrail(grid.acme.store, { name: 'mod', ...moderation() })
  await updateGuardrail(grid.acme.store, id, { name, config: { baseUrl: service.url }, enabled: false })
  const before = await dump(grid, grid.acme)

  const trial = await tryGuardrail(asAdmin(), { guardrail: { name, id }[by] }, text)

  expect(trial).toEqual({
    provider: 'openai-moderation',
    milliseconds: expect.any(Number),
    verdict: { kinds: ['hate'] },
    raw: flagged,
  })
  expect(onlyRequest(service)).toMatchObject({ headers: { authorization: `Bearer ${token}` }, body: { input: text } })
  expect(await dump(grid, grid.acme)).toBe(before)
})

test('a provider can be tried without storing a guardrail', async () => {
  expect(await tryGuardrail(asAdmin(), moderation(), text)).toMatchObject({
    verdict: { kinds: ['hate'] },
    raw: flagged,
  })
  expect(await grid.acme.store.read.guardrails.list()).toEqual([])
})

test('a trial checks the text as it would be stored, without invisible characters', async () => {
  await tryGuardrail(asAdmin(), moderation(), 'in\u{e0041}vis\u2063ible \ud800')

  expect(onlyRequest(service).body.input).toBe('invisible \ufffd')
})

describe('trying a service that fails', () => {
  test('trying a guardrail times out after 3 seconds', async () => {
    await service.close()
    service = await startService(() => {})

    const { milliseconds, failure } = await tryGuardrail(grid.acme.store, moderation(), text)

    expect(failure).toMatchObject({ reason: 'timeout' })
    expect(milliseconds).toBeGreaterThanOrEqual(2_900)
  })

  test('a disallowed address is reported to the operator, and to an admin only as unreachable', async () => {
    const tried = { ...moderation(), config: { baseUrl: 'https://169.254.169.254' } }

    expect((await tryGuardrail(grid.acme.store, tried, text)).failure).toMatchObject({
      reason: 'refused',
      message: expect.stringContaining('not allowed'),
    })
    expect((await tryGuardrail(asAdmin(), tried, text)).failure).toEqual({
      reason: 'unreachable',
      message: 'The service was not reached, or gave no usable answer in time.',
    })
    expect(grid.logs.join('\n')).not.toContain('canary')
  })
})

test.each<[string, Parameters<typeof tryGuardrail>[1], string, string]>([
  ['an unknown guardrail', { guardrail: 'nobody' }, text, 'guardrail_not_found'],
  ['an unknown provider', { provider: 'nobody' }, text, 'invalid_input'],
  ['a wrong configuration', { provider: 'presidio', config: { analyzerUrl: 'ftp://x' } }, text, 'invalid_input'],
  ['no token', { provider: 'openai-moderation', config: {} }, text, 'invalid_input'],
  ['a wrong token', { provider: 'webhook', config: { url: 'https://x.example' }, token: 't' }, text, 'invalid_input'],
  ['a token that nobody needs', { provider: 'pii', token: 't' }, text, 'invalid_input'],
  ['an empty text', { provider: 'pii' }, '', 'invalid_input'],
  ['a text of invisible characters', { provider: 'pii' }, '\u2063', 'invalid_input'],
  ['a text with U+0000', { provider: 'pii' }, 'a\0b', 'invalid_input'],
  ['a text that is too long', { provider: 'pii' }, 'x'.repeat(250_001), 'invalid_input'],
])('trying a guardrail with %s is refused', async (_, tried, text, code) => {
  await expect(tryGuardrail(asAdmin(), tried, text)).rejects.toMatchObject({ code })
})

test('agents and viewers cannot try a guardrail', async () => {
  const agent = storeOf(grid, grid.alice)
  const viewer = grid.store.account(grid.acme.id, { type: 'user', userId: 'u', sessionId: 's', role: 'viewer' })

  await expect(tryGuardrail(agent, moderation(), text)).rejects.toMatchObject({ code: 'wrong_credential' })
  await expect(tryGuardrail(viewer, moderation(), text)).rejects.toMatchObject({ code: 'not_allowed' })
  expect(service.requests).toEqual([])
})
