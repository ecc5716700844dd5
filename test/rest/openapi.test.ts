/** The OpenAPI document is valid. Each call in `support/rest.ts` also checks that its response matches the document. */
import { Validator } from '@seriousme/openapi-schema-validator'
import { beforeAll, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { newId } from '../../src/lib/id.ts'
import { openApiDocument } from '../../src/rest/openapi.ts'
import { restRoutes } from '../../src/rest/routes.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { guard, secret } from '../support/guarded.ts'
import { callRest } from '../support/rest.ts'

const path = '/api/v1/openapi.json'
// deno-lint-ignore no-explicit-any -- a document of JSON
type Json = any

let grid: TestGrid
let closed: Json
beforeAll(async () => {
  grid = await testGrid()
  closed = openApiDocument(restRoutes, ['http://localhost'], 'closed')
})

test('the OpenAPI document is valid in version 3.1, and public even for pages of other origins', async () => {
  const response = await grid.request(path, { headers: { Origin: 'http://localhost:1' } })
  const document = await response.json() as Json
  const { valid, errors } = await new Validator().validate(structuredClone(document))

  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
})

test('the OpenAPI document allows later additions to responses', () => {
  expect(JSON.stringify(closed.components.schemas.GridMessage)).toContain('"additionalProperties":false')
  const open = openApiDocument(restRoutes, ['http://localhost']) as Json
  expect(JSON.stringify(open.components.schemas.GridMessage)).not.toContain('additionalProperties')
  expect(open.paths['/api/v1/messages'].post.requestBody.content['application/json'].schema.additionalProperties).toBe(
    false,
  )
})

test('each kind of call returns a response that matches the OpenAPI document', async () => {
  const { acme, alice, bob } = grid
  const send = (args: object, headers = {}) => callRest(grid, alice.key, 'POST /api/v1/messages', { ...args }, headers)
  await guard(acme, 'alice', { direction: 'outbound', action: 'block' })
  await createChannel(acme.store, { name: 'closed', members: ['bob'] })
  const message = { to: '@bob', message: 'hi' }

  const outcomes = [
    await send(message, { 'Idempotency-Key': 'k' }),
    await send({ ...message, message: 'ho' }, { 'Idempotency-Key': 'k' }),
    await send({ ...message, message: 'x'.repeat(256 * 1024 + 1) }),
    await send({ ...message, to: '@alice' }),
    await send({ ...message, to: '#closed' }),
    await send({ ...message, message: `a ${secret}` }),
    await send({ ...message, acks: { lease_id: newId() } }),
    await send({ ...message, acks: { lease_id: 'x' } }),
    await callRest(grid, bob.key, 'GET /api/v1/inbox', { summary: 'true' }),
    await callRest(grid, bob.key, 'GET /api/v1/inbox', { limit: 0 }),
    await callRest(grid, bob.key, 'POST /api/v1/inbox/leases', { seconds: 30 }),
    await callRest(grid, acme.adminKey, 'POST /api/v1/guardrails', { name: 'open-guard', provider: 'pii' }),
    await callRest(grid, acme.adminKey, 'POST /api/v1/guardrails', { name: 'open-guard', provider: 'pii' }),
    await callRest(grid, undefined, 'POST /api/v1/agentic-signup', { alias: 'open-one', owner_email: 'o@x.example' }),
    await callRest(grid, undefined, 'POST /api/v1/agentic-signup', { alias: 'open-one', owner_email: 'o@x.example' }),
    await callRest(grid, undefined, 'POST /api/v1/agentic-signup', { x: 'x'.repeat(20_000) }),
  ]

  expect(outcomes.map(({ status, body }) => body.error?.code ?? status)).toEqual([
    201,
    'idempotency_conflict',
    'message_too_long',
    'self_message',
    'not_channel_member',
    'guardrail_blocked',
    'stale_lease',
    'lease_not_found',
    200,
    'invalid_input',
    200,
    201,
    'guardrail_taken',
    201,
    'alias_taken',
    'payload_too_large',
  ])
})
