/** Trying a guardrail on a text (docs/protocol.md, "Trying a guardrail"). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createGuardrail, updateGuardrail } from '../../../src/grid/guardrails/guardrails.ts'
import { tryGuardrail } from '../../../src/grid/guardrails/try-guardrail.ts'
import type { SafeRequest } from '../../../src/lib/outbound/safe-fetch.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { dump } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { signingSecret, testProviders } from '../../support/guarded.ts'
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
  await grid.close()
})

const moderation = () => ({ provider: 'openai-moderation', config: { baseUrl: service.url }, token })
const asAdmin = (): AccountStore =>
  grid.store.account(grid.acme.id, { type: 'admin', credentialId: 'key', credentialKind: 'admin_key', userId: null })

test.each(['name', 'id'] as const)('a guardrail of the account, by its %s, also while it is off', async (by) => {
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

test('a provider that is not stored', async () => {
  expect(await tryGuardrail(asAdmin(), moderation(), text)).toMatchObject({
    verdict: { kinds: ['hate'] },
    raw: flagged,
  })
  expect(await grid.acme.store.read.guardrails.list()).toEqual([])
})

test('a local provider has no raw answer', async () => {
  const trial = await tryGuardrail(asAdmin(), { provider: 'length', config: { maxCharacters: 9_000 } }, text)

  expect(trial).toEqual({ provider: 'length', milliseconds: expect.any(Number), verdict: { kinds: [] } })
})

test('the text is checked as it would be stored, without invisible characters', async () => {
  await tryGuardrail(asAdmin(), moderation(), 'in\u{e0041}vis\u2063ible \ud800')

  expect(onlyRequest(service).body.input).toBe('invisible \ufffd')
})

test('settings that a guardrail was stored without have their defaults', async () => {
  await grid.close()
  const asked: [string, SafeRequest][] = []
  grid = await testGrid({
    safeFetch(url, request) {
      asked.push([url, request])
      return Promise.resolve({ status: 200, text: '', header: () => undefined, json: () => flagged })
    },
  })
  const { id } = await createGuardrail(grid.acme.store, { name: 'old', provider: 'openai-moderation', token })
  await grid.acme.store.write([
    grid.acme.store.change.guardrails.update(id, { config: '{"model":"omni-moderation-latest"}' }),
  ])

  await tryGuardrail(asAdmin(), { guardrail: 'old' }, text)

  expect(asked.map(([url]) => url)).toEqual(['https://api.openai.com/v1/moderations'])
})

describe('a service that fails', () => {
  test('is a result, and its reason is that of the service', async () => {
    await service.close()
    service = await startService((_, response) => response.writeHead(429).end())

    expect(await tryGuardrail(asAdmin(), moderation(), text)).toEqual({
      provider: 'openai-moderation',
      milliseconds: expect.any(Number),
      failure: { reason: 'rate_limited', message: expect.stringContaining('status 429') },
    })
  })

  test('is ended after 3 seconds', async () => {
    await service.close()
    service = await startService(() => {})

    const { milliseconds, failure } = await tryGuardrail(grid.acme.store, moderation(), text)

    expect(failure).toMatchObject({ reason: 'timeout' })
    expect(milliseconds).toBeGreaterThanOrEqual(2_900)
  })

  test('is ended also if the provider ignores that its time is over', async () => {
    await grid.close()
    const { guardrailChecks, remote } = testProviders({ timeoutMs: 20 })
    remote.check = () => new Promise(() => {})
    grid = await testGrid({ guardrailChecks })
    const tried = { provider: 'webhook', config: { url: 'https://guard.example' }, token: signingSecret }

    expect((await tryGuardrail(grid.acme.store, tried, text)).failure).toMatchObject({ reason: 'timeout' })
  })

  test('because its address is not allowed: the operator learns why, an admin only that it was not reached', async () => {
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
])('%s is refused', async (_, tried, text, code) => {
  await expect(tryGuardrail(asAdmin(), tried, text)).rejects.toMatchObject({ code })
})

test('a guardrail whose token is not stored is refused', async () => {
  const { id } = await createGuardrail(grid.acme.store, {
    name: 'mod',
    ...moderation(),
    token: undefined,
    enabled: false,
  })

  await expect(tryGuardrail(asAdmin(), { guardrail: id }, text)).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('needs a token'),
  })
})

test('agents and viewers may not', async () => {
  const agent = grid.store.account(grid.acme.id, {
    type: 'agent',
    agentId: grid.alice.id,
    alias: 'alice',
    credentialId: 'key',
  })
  const viewer = grid.store.account(grid.acme.id, { type: 'user', userId: 'u', sessionId: 's', role: 'viewer' })

  await expect(tryGuardrail(agent, moderation(), text)).rejects.toMatchObject({ code: 'wrong_credential' })
  await expect(tryGuardrail(viewer, moderation(), text)).rejects.toMatchObject({ code: 'not_allowed' })
  expect(service.requests).toEqual([])
})
