/** Requests that are refused because of their parameters, before a tool runs. */
import { beforeEach, expect, test } from 'vitest'
import { rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { envelope, eras, mcp, sendWire, signupPath, wireRequest } from '../support/mcp.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'demo', version: '1' } }

test.each([
  [{}, 'protocolVersion is missing.'],
  [{ ...initialize, protocolVersion: 3 }, 'protocolVersion must be a string.'],
])('initialize with %j gets -32602: %s', async (params, message) => {
  for (const [key, path] of [[grid.alice.key], [grid.acme.adminKey], [undefined, signupPath]] as const) {
    const answer = await sendWire(grid, key, wireRequest('legacy', 'initialize', params), path)

    expect(answer).toMatchObject({ status: 200, body: { id: 1, error: { code: -32602 } } })
    expect(answer.body.error.message).toMatch(message)
  }
})

test.each(eras)(
  "in the %s era, invalid parameters of resources and lists get -32602 with the field's name",
  async (era) => {
    const wrong: [string, Record<string, unknown>, string][] = [
      ['resources/read', {}, 'uri is missing.'],
      ['resources/list', { cursor: 3 }, 'cursor must be a string.'],
      ['tools/call', { name: 'list_agents', arguments: 'x' }, 'arguments must be an object.'],
      ...(era === 'modern'
        ? [
          ['subscriptions/listen', {}, 'notifications is missing.'],
          [
            'subscriptions/listen',
            { notifications: { toolsListChanged: 1 } },
            'The parameters of subscriptions/listen do not match the MCP specification.',
          ],
        ] as [string, Record<string, unknown>, string][]
        : [
          ['resources/subscribe', { uri: [] }, 'uri must be a string.'],
        ] as [string, Record<string, unknown>, string][]),
    ]
    for (const [method, params, message] of wrong) {
      const answer = await mcp(grid, grid.alice.key, method, params, era)

      expect([method, answer.status, answer.body.error]).toEqual([method, 200, { code: -32602, message }])
    }
  },
)

test('reading a resource above the limit of lists gets -32000, like every call above a limit', async () => {
  const { lists } = grid.acme.store.waiting
  const [{ id }] = await rows(grid, 'SELECT id FROM credentials WHERE account_id = ? AND agent_id = ?', [
    grid.acme.id,
    grid.alice.id,
  ])
  const releases = Array.from({ length: 100 }, () => lists.acquire(String(id)))
  const answer = await mcp(grid, grid.alice.key, 'resources/read', { uri: 'grid://agents' })
  releases.forEach((release) => release?.())

  expect(answer.body.error).toEqual({
    code: -32000,
    message: 'This key may have 6 lists at a time. Call again once one of them has been answered.',
    data: { code: 'rate_limit_exceeded', retry_after_seconds: 1 },
  })
})

test("an admin cannot call subscriptions/listen, and an agent's fourth stream exceeds the limit", async () => {
  const params = { notifications: { resourceSubscriptions: ['grid://inbox'] } }
  const refused = await mcp(grid, grid.acme.adminKey, 'subscriptions/listen', params, 'modern')
  const { headers, body } = wireRequest('modern', 'subscriptions/listen', params)
  const listen = () => grid.post('/mcp/v1/grid', body, { ...headers, Authorization: `Bearer ${grid.alice.key}` })
  const open = [await listen(), await listen(), await listen()]
  const fourth = await listen()

  expect(refused).toMatchObject({ status: 404, body: { id: 1, error: { code: -32601, message: 'Method not found' } } })
  expect(fourth.status).toBe(200)
  expect(await fourth.json()).toMatchObject({ id: 1, error: { code: -32000, data: { code: 'rate_limit_exceeded' } } })
  await Promise.all(open.map((stream) => stream.body!.cancel()))
})

test("an admin's tool call adds one row to the activity even if it is refused before the tool runs, and tools/list adds none", async () => {
  const key = grid.acme.adminKey
  const calls = [
    wireRequest('legacy', 'tools/call', { name: 'admin_nothing', arguments: { token: 'CANARY' } }),
    wireRequest('modern', 'tools/call', { name: 'send_message', arguments: {} }),
    wireRequest('legacy', 'tools/call', { name: 5 }),
    wireRequest('legacy', 'tools/call', { name: 'admin_list_agents', arguments: [1] }),
    wireRequest('legacy', 'tools/call'),
    wireRequest('legacy', 'tools/call', { name: 'admin_list_agents' }, 1.5),
  ]
  const otherHeader = wireRequest('modern', 'tools/call', { name: 'admin_list_agents' })
  otherHeader.headers['Mcp-Name'] = 'admin_delete_agent'
  const notJson = wireRequest('legacy', 'tools/call', { name: 'admin_list_agents' })
  notJson.headers['Content-Type'] = 'text/plain'
  for (const call of [...calls, otherHeader, notJson]) {
    const { body } = await sendWire(grid, key, call)
    expect(body.error.code).not.toBe(-32603)
  }
  await mcp(grid, key, 'tools/list')
  await mcp(grid, key, 'tools/call', { name: 'admin_list_agents', arguments: { limit: 0 } })

  const log = await grid.acme.store.read.activity.list()
  expect(log.map(({ tool, outcome }) => [tool, outcome]).toReversed()).toEqual([
    ...Array(8).fill(['tools/call', 'invalid_request']),
    ['admin_list_agents', 'invalid_input'],
  ])
  expect(log.at(-1)!.arguments).toBe('{"name":"admin_nothing","arguments":{"token":"…"}}')
  expect(JSON.parse(log[1].arguments)).toMatchObject({ name: 'admin_list_agents' })
  expect(log.every(({ credentialKind, requestId }) => credentialKind === 'admin_key' && requestId)).toBe(true)
})

test('a refused agent call adds no row to the activity', async () => {
  await mcp(grid, grid.alice.key, 'tools/call', { name: 'admin_list_agents', _meta: envelope() }, 'modern')

  expect(await grid.acme.store.read.activity.list()).toEqual([])
})
