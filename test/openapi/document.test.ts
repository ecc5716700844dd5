/** The OpenAPI document is valid, has every route, and says what the routes answer. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { openApiDocument } from '../../src/openapi/document.ts'
import { operations } from '../../src/openapi/operations.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { postA2a, send10 } from '../support/a2a.ts'
import { rows, updateTrial } from '../support/database.ts'
import { guard, secret } from '../support/guarded.ts'
import { accessTokenFor } from '../support/oauth-token.ts'

const path = '/api/v1/openapi.json'
// deno-lint-ignore no-explicit-any -- a document of JSON
type Json = any

let grid: TestGrid
let closed: Json
beforeAll(async () => {
  grid = await testGrid()
  closed = openApiDocument(['http://localhost'], 'closed')
})
afterAll(() => grid.close())

test('the document is valid OpenAPI 3.1, and is served to everybody, also to pages of other origins', async () => {
  const response = await grid.request(path, { headers: { Origin: 'http://localhost:1' } })
  const document = await response.json() as Json
  const { valid, errors } = await new Validator().validate(structuredClone(document))

  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
})

test('every route of the REST side is an operation, and no other', () => {
  const routes = grid.app.routes
    .filter(({ method, path }) =>
      path.startsWith('/api/') && path !== '/api/v1/grid' && !['ALL', 'OPTIONS'].includes(method)
    )
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)

  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([...new Set(routes)].sort())
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
})

test('what an answer may have later is not forbidden to it', () => {
  expect(JSON.stringify(closed.components.schemas.GridMessage)).toContain('"additionalProperties":false')
  const open = openApiDocument(['http://localhost']) as Json
  expect(JSON.stringify(open.components.schemas.GridMessage)).not.toContain('additionalProperties')
  expect(open.paths['/api/v1/messages'].post.requestBody.content['application/json'].schema.additionalProperties).toBe(
    false,
  )
})

/** A call of an operation, and what it answers: a status below 400, or an error code. */
interface Call {
  id: string
  expected: number | string
  /** Parameters of the path. */
  params?: Record<string, string>
  query?: string
  key?: string
  headers?: Record<string, string>
  body?: unknown
}

test('every operation answers as the document says, and fails with codes that it names', async () => {
  const calls = await makeCalls()
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const produced = new Map<string, Set<string>>()
  for (const make of calls) {
    const call = await make()
    const operation = operations.find(({ id }) => id === call.id)!
    const { status, body } = await answerOf(call)
    const where = `${call.id} ${call.expected}: ${status} ${JSON.stringify(body)}`
    expect(body?.error?.code ?? status, where).toBe(call.expected)

    const response = closed.paths[operation.path][operation.method.toLowerCase()].responses[status]
    expect(response, where).toBeDefined()
    const schema = response.content?.['application/json']?.schema
    if (schema) {
      // References of the schema lead to the components of the document.
      const validate = ajv.compile({ ...schema, components: closed.components })
      expect(validate(body) ? [] : validate.errors, where).toEqual([])
    }
    produced.set(call.id, (produced.get(call.id) ?? new Set()).add(String(call.expected)))
  }

  for (const { id, answers, errors = [] } of operations) {
    const expected = [...Object.keys(answers), ...errors]
    const missing = expected.filter((outcome) => !produced.get(id)?.has(outcome) && !(outcome in notProduced))
    expect(missing, `outcomes of ${id} that no call produces`).toEqual([])
  }
})

/** Outcomes that take more than a call, each with the test that produces it. */
const notProduced: Record<string, string> = {
  lease_limit_reached: 'test/rest: "an agent has 100 open leases, and more when one of them ends"',
  alias_reserved: 'reserved, as docs/protocol.md says',
  agent_limit_reached: 'the same',
  signup_rate_limited: 'test/rest/signup-limits.test.ts',
  storage_full: 'test/store/driver/disk-space.test.ts',
  key_limit_reached: 'test/grid/agents/named-keys.test.ts',
  write_conflict: 'test/rest/guardrails.test.ts',
  quota_exceeded: 'test/grid/messaging/quotas.test.ts',
  guardrail_unavailable: 'test/guardrails/remote/failures.test.ts',
  conversation_paused: 'test/grid/messaging/runaway.test.ts',
}

async function answerOf({ id, params = {}, query = '', key, headers, body }: Call) {
  const { method, path } = operations.find((operation) => operation.id === id)!
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name])) + query
  const response = await grid.request(target, {
    method,
    headers: {
      ...(key !== undefined && { Authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const isJson = response.headers.get('content-type')?.startsWith('application/json')
  if (isJson) return { status: response.status, body: await response.json() as Json }
  await response.body?.cancel()
  return { status: response.status, body: undefined }
}

async function makeCalls(): Promise<(() => Call | Promise<Call>)[]> {
  const { acme, alice, bob } = grid
  const admin = acme.adminKey
  const key = bob.key
  const olga = (await rows(grid, 'SELECT user_id FROM memberships WHERE account_id = ?', [acme.id]))[0]
  const { token } = await accessTokenFor(grid, String(olga.user_id), acme.id, bob.id)
  const raw = { raw: Buffer.alloc(50_000, 'part').toString('base64'), mediaType: 'image/png' }
  const trial = await acme.agent('on-trial')
  await updateTrial(grid, trial, { used: 10, max: 10, expiresAt: grid.clock.now + 1 })
  const send = async (message: string, more: object = {}) =>
    (await answerOf({ id: 'sendMessage', expected: 201, key: alice.key, body: { to: '@bob', message, ...more } })).body
  await postA2a(grid, alice.key, send10({ parts: [{ text: 'a picture' }, raw], metadata: { to: '@bob' } }))
  const [{ id: part }] = await rows(grid, 'SELECT id FROM parts WHERE account_id = ?', [acme.id])
  const leaseId = async () => {
    await send('work', { conversation_id: 'c' })
    return (await answerOf({ id: 'leaseMessages', expected: 200, key, body: {} })).body.lease_id as string
  }
  const ofLease = (id: string, body: object) => [
    async () => ({ id, expected: 200, key, body, params: { lease: await leaseId() } }),
    () => ({ id, expected: 'stale_lease', key, body, params: { lease: 'x' } }),
    () => ({ id, expected: 'invalid_input', key, body: { x: 1 }, params: { lease: 'x' } }),
    () => ({ id, expected: 'wrong_credential', key: admin, body, params: { lease: 'x' } }),
    () => ({ id, expected: 'malformed_json', key, body: '{', params: { lease: 'x' } }),
  ]
  const sending = (expected: number | string, body: unknown, more: Partial<Call> = {}) => () => ({
    ...{ id: 'sendMessage', expected, key: alice.key, body, ...more },
  })
  const message = { to: '@bob', message: 'hi' }
  const signup = { alias: 'open-one', owner_email: 'o@x.example', description: 'd', skills: ['a'] }
  const named = (id: string, guardrail: string, expected: number | string, body?: unknown) => () => ({
    ...{ id, expected, key: admin, params: { guardrail }, body },
  })

  return [
    () => ({ id: 'getOpenApi', expected: 200 }),
    () => ({ id: 'signUp', expected: 201, body: signup }),
    () => ({ id: 'signUp', expected: 'alias_taken', body: signup }),
    () => ({ id: 'signUp', expected: 'invalid_alias', body: {} }),
    () => ({ id: 'signUp', expected: 'invalid_email', body: { alias: 'open-two' } }),
    () => ({ id: 'signUp', expected: 'invalid_request', body: '[' }),
    () => ({ id: 'signUp', expected: 'unsupported_media_type', headers: { 'Content-Type': 'text/plain' }, body: '{}' }),
    () => ({ id: 'signUp', expected: 'payload_too_large', body: { x: 'x'.repeat(20_000) } }),

    () => ({ id: 'peekInbox', expected: 200, key }),
    () => ({ id: 'peekInbox', expected: 200, key, query: '?summary=true' }),
    () => ({ id: 'peekInbox', expected: 'invalid_input', key, query: '?limit=0' }),
    () => ({ id: 'peekInbox', expected: 'unauthenticated' }),
    () => ({ id: 'peekInbox', expected: 'wrong_credential', key: admin }),
    () => ({ id: 'leaseMessages', expected: 200, key }),
    () => ({ id: 'leaseMessages', expected: 200, key, body: { seconds: 30 } }),
    () => ({ id: 'leaseMessages', expected: 'invalid_input', key, body: { seconds: 1 } }),
    ...ofLease('extendLease', { seconds: 60 }),
    ...ofLease('ackLease', {}),
    ...ofLease('releaseLease', {}),

    sending(201, message),
    sending(201, message, { headers: { 'Idempotency-Key': 'k' } }),
    sending('idempotency_conflict', { ...message, message: 'ho' }, { headers: { 'Idempotency-Key': 'k' } }),
    sending('invalid_input', { to: '@bob' }),
    sending('message_too_long', { to: '@bob', message: 'x'.repeat(10_001) }),
    sending('self_message', { to: '@alice', message: 'hi' }),
    sending('recipient_not_found', { to: '@nobody', message: 'hi' }),
    sending('channel_not_found', { to: '#nowhere', message: 'hi' }),
    async () => {
      await createChannel(acme.store, { name: 'closed', members: ['bob'] })
      return sending('not_channel_member', { to: '#closed', message: 'hi' })()
    },
    sending('message_not_found', { ...message, reply_to_message_id: 'x' }),
    sending('stale_lease', { ...message, acks: { lease_id: 'x' } }),
    sending('trial_expired', message, { key: trial.key }),

    () => ({ id: 'getPart', expected: 200, key, params: { id: String(part) } }),
    () => ({ id: 'getPart', expected: 206, key, params: { id: String(part) }, headers: { Range: 'bytes=0-1' } }),
    () => ({ id: 'getPart', expected: 304, key, params: { id: String(part) }, headers: { 'If-None-Match': '*' } }),
    () => ({ id: 'getPart', expected: 'part_not_found', key, params: { id: 'x' } }),
    () => ({
      ...{ id: 'getPart', expected: 'range_not_satisfiable', key, params: { id: String(part) } },
      headers: { Range: 'bytes=900000-' },
    }),
    () => ({ id: 'openWakeStream', expected: 200, key }),
    () => ({ id: 'openWakeStream', expected: 'invalid_input', key, query: '?attended=a&runner=b' }),
    () => ({ id: 'openWakeStream', expected: 'wrong_credential', key: admin }),

    () => ({ id: 'createGuardrail', expected: 201, key: admin, body: { name: 'open-guard', provider: 'pii' } }),
    () => ({
      id: 'createGuardrail',
      expected: 'guardrail_taken',
      key: admin,
      body: { name: 'open-guard', provider: 'pii' },
    }),
    () => ({ id: 'createGuardrail', expected: 'invalid_input', key: admin, body: {} }),
    () => ({ id: 'listGuardrails', expected: 200, key: admin }),
    () => ({ id: 'listGuardrails', expected: 'invalid_input', key: admin, query: '?x=1' }),
    named('getGuardrail', 'open-guard', 200),
    named('getGuardrail', 'nothing', 'guardrail_not_found'),
    named('updateGuardrail', 'open-guard', 200, { action: 'flag' }),
    named('updateGuardrail', 'open-guard', 'invalid_input', { action: 'x' }),
    named('updateGuardrail', 'nothing', 'guardrail_not_found', { action: 'flag' }),
    async () => {
      await answerOf({
        id: 'createGuardrail',
        expected: 201,
        key: admin,
        body: { name: 'second-guard', provider: 'pii' },
      })
      return named('updateGuardrail', 'second-guard', 'guardrail_taken', { name: 'open-guard' })()
    },
    named('deleteGuardrail', 'open-guard', 200),
    named('deleteGuardrail', 'nothing', 'guardrail_not_found'),

    async () => {
      await guard(acme, 'alice', { direction: 'outbound', action: 'block' })
      return sending('guardrail_blocked', { to: '@bob', message: `a ${secret}` })()
    },
    () => ({ id: 'fetchAgentKey', expected: 200, key: token }),
    () => ({ id: 'fetchAgentKey', expected: 200, key: token, body: { name: 'laptop' } }),
    () => ({ id: 'fetchAgentKey', expected: 'invalid_input', key: token, body: { name: 1 } }),
    () => ({ id: 'fetchAgentKey', expected: 'agent_token_required', key }),
    () => ({ id: 'getCaller', expected: 200, key }),
    () => ({ id: 'getCaller', expected: 'wrong_credential', key: admin }),
    () => ({ id: 'revokeKey', expected: 200, key: trial.key }),
    () => ({ id: 'revokeKey', expected: 'unauthenticated', key: trial.key }),
  ]
}
