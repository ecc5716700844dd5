import { beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { errorInfo, inboxOf, postA2a, send03, send10 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

const routing = 'http://localhost:8787/a2a/ext/grid-routing/v1'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test.each([
  ['with @', { metadata: { to: '@bob' } }, {}],
  ['without @', { metadata: { to: 'bob' } }, {}],
  ['in upper case and with spaces', { metadata: { to: ' @BOB ' } }, {}],
  ['only in params.metadata', { metadata: null }, { metadata: { to: 'bob' } }],
  ['as tenant', { metadata: undefined }, { tenant: 'bob' }],
  ['under the name of the extension', { metadata: { [`${routing}/to`]: '@bob' } }, {}],
  ['several times, all alike', { metadata: { to: 'BOB' } }, { tenant: 'bob', metadata: { to: '@bob' } }],
  ['next to empty ones', { metadata: { to: 'bob' } }, { tenant: '', metadata: { to: null } }],
])('the recipient may be given %s', async (_, message, params) => {
  const { body } = await post(send03(message, params))

  // With a tenant, the response is a task, as at the agent's endpoint.
  expect(body.result.kind).toBe('tenant' in params && params.tenant ? 'task' : 'message')

  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
})

test('an agent can send to itself over A2A', async () => {
  const { body } = await post(send03({ metadata: { to: 'alice' } }))

  expect(body.result.parts[0].text).toBe('Message delivered to @alice')
  expect(await inboxOf(grid, grid.alice)).toHaveLength(1)
})

test.each([
  ['no metadata', send03({ metadata: undefined })],
  ['an empty recipient', send03({ metadata: { to: '' } })],
  ['nothing but an @', send10({ metadata: { to: ' @ ' } })],
])(
  'a message with %s gets the error that names message.metadata and asks for the alias',
  async (_, body) => {
    const answer = await post(body)

    expect(answer.status).toBe(200)
    expect(answer.body.error).toEqual({
      code: -32000,
      message: "Missing 'to' in message.metadata - specify the recipient @alias",
      data: [errorInfo('RECIPIENT_REQUIRED', 'localhost')],
    })
  },
)

test.each([
  ['a number', { metadata: { to: 123 } }, {}],
  ['a text of 101 characters', { metadata: { to: 'x'.repeat(101) } }, {}],
  ['two different agents', { metadata: { to: 'bob' } }, { tenant: 'alice' }],
  ['different agents in message and params', { metadata: { to: 'bob' } }, { metadata: { to: 'alice' } }],
])('a recipient given as %s is invalid', async (_, message, params) => {
  const { body } = await post(send03(message, params))

  expect(body.error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field: expect.any(String) }] }] })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

test('unknown, deleted and inaccessible recipients get the same error', async () => {
  await grid.acme.agent('carol')
  await grid.store.write([{
    sql: `UPDATE agents SET deleted_at = 1 WHERE alias = 'carol' AND "account_id" = ?`,
    args: [grid.acme.id],
  }])

  const unknown = await post(send03({ metadata: { to: '@nobody' } }))
  const foreign = await post(send03({ metadata: { to: '@eve' } }))
  const deleted = await post(send03({ metadata: { to: '@carol' } }))

  expect(unknown.status).toBe(200)
  expect(unknown.body.error).toEqual({
    code: -32602,
    message: "Agent '@nobody' not found",
    data: [errorInfo('RECIPIENT_NOT_FOUND', 'localhost')],
  })
  const text = JSON.stringify(unknown.body)
  expect(JSON.stringify(foreign.body)).toBe(text.replace('nobody', 'eve'))
  expect(JSON.stringify(deleted.body)).toBe(text.replace('nobody', 'carol'))
  expect(headersOf(foreign.headers)).toEqual(headersOf(unknown.headers))
  expect(headersOf(deleted.headers)).toEqual(headersOf(unknown.headers))
  expect(await inboxOf(grid, grid.eve)).toEqual([])
})

test('a channel or a double @ is not accepted as a recipient', async () => {
  await createChannel(grid.acme.store, { name: 'general', members: ['alice', 'bob'] })

  for (const to of ['#general', '@bob']) {
    const { body } = await post(send03({ metadata: { to: `@${to}` } }))

    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining(`Agent '@${to}' not found`) })
  }
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

function post(body: unknown, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers)
}

function headersOf(headers: Headers) {
  const { 'x-request-id': _, ...others } = Object.fromEntries(headers)
  return others
}
