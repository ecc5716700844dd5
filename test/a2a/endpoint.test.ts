import { beforeEach, expect, test } from 'vitest'
import { mintKey } from '../../src/lib/secrets.ts'
import { endpoint, inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test.each([
  ['a missing API key', () => undefined, 'Bearer realm="agent-grid"'],
  ['a malformed API key', () => 'nonsense', 'Bearer realm="agent-grid", error="invalid_token"'],
  ['an unknown API key', unknownKey, 'Bearer realm="agent-grid", error="invalid_token"'],
  ['an admin key', () => grid.acme.adminKey, 'Bearer realm="agent-grid", error="invalid_token"'],
])(
  'a request with %s gets HTTP 401 with a challenge and a JSON-RPC error',
  async (_, keyOf, challenge) => {
    const key = await keyOf()
    const bodies = [send03(), send10(), request('no/such', {}), 'no JSON', []]
    for (const body of bodies) {
      const answer = await postA2a(grid, key, body)

      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate')).toBe(challenge)
      expect(answer.body).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32054,
          // The message must not suggest OAuth, which the endpoint does not accept.
          message: expect.not.stringContaining('OAuth'),
          data: [{
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: 'UNAUTHENTICATED',
            domain: 'localhost',
          }],
        },
      })
    }
    expect(await inboxOf(grid, grid.bob)).toEqual([])
  },
)

test('a body of 256 KiB is accepted, and a body declared as larger is refused before the key is checked', async () => {
  const withText = (length: number) => JSON.stringify(send03({ padding: 'x'.repeat(length) }))
  const limit = 256 * 1024 - withText(0).length

  const largest = await post(withText(limit))
  const tooLarge = await postA2a(grid, undefined, withText(limit + 1), { 'Content-Length': `${256 * 1024 + 1}` })

  expect(largest.body.result.kind).toBe('message')
  expect((await post(withText(limit + 1))).status).toBe(413)
  expect(tooLarge.status).toBe(413)
  expect(tooLarge.body).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.any(String) } })
})

test('a body of undeclared length is also refused above 256 KiB, and is not read without a key', async () => {
  let pulled = 0
  const endless = (headers: Record<string, string>) => {
    const pull = (controller: ReadableStreamDefaultController) => {
      pulled++
      controller.enqueue(new Uint8Array(64 * 1024))
    }
    const body = new ReadableStream({ pull }, { highWaterMark: 0 })
    const init = { method: 'POST', body, duplex: 'half', headers: { 'Content-Type': 'application/json', ...headers } }
    return grid.request(endpoint, init as RequestInit)
  }

  expect([(await endless({})).status, pulled]).toEqual([401, 0])
  expect((await endless({ Authorization: `Bearer ${grid.alice.key}` })).status).toBe(413)
})

test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])(
  'a body of type %s is refused before it is parsed',
  async (type) => {
    const { status, body } = await post('no JSON', { 'Content-Type': type })

    expect(status).toBe(200)
    expect(body).toMatchObject({ id: null, error: { code: -32005, data: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } })
  },
)

test.each(['application/json; charset=utf-8', 'Application/JSON', 'application/a2a+json'])(
  'a body of type %s is accepted',
  async (type) => {
    const { headers, body } = await post(send03(), { 'Content-Type': type })

    expect(body.result.kind).toBe('message')
    expect(headers.get('content-type')).toContain('application/json')
  },
)

test.each([
  ['is empty', ''],
  ['ends early', '{"jsonrpc":"2.0"'],
  ['would change a prototype', '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"__proto__":{"x":1}}}'],
])('a body that %s gets -32700 over A2A', async (_, text) => {
  const { status, body } = await post(text)

  expect(status).toBe(200)
  expect(body).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32700, message: expect.stringMatching(/\.$/) } })
})

test.each([
  ['nested 100,000 deep', '['.repeat(100_000)],
  ['of 5,002 values', `[${'0,'.repeat(5_001)}0]`],
])('JSON %s gets -32600 without being parsed', async (_, value) => {
  const { status, body } = await post(`{"jsonrpc":"2.0","id":"mine","method":"GetTask","params":${value}}`)

  expect(status).toBe(200)
  expect(body).toMatchObject({ id: null, error: { code: -32600 } })
})

test('a body that is not UTF-8 gets -32700', async () => {
  const response = await grid.request(endpoint, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${grid.alice.key}` },
    body: new Uint8Array([0x22, 0xff, 0x22]),
  })

  expect(await response.json()).toMatchObject({ id: null, error: { code: -32700 } })
})

test.each([
  ['a batch', [send03(), send03()], null],
  ['null', 'null', null],
  ['an object as id', { ...send03(), id: {} }, null],
  ['no jsonrpc', { ...send03(), jsonrpc: undefined }, 1],
  ['jsonrpc 1.0', { ...send03(), jsonrpc: '1.0' }, 1],
  ['no method', { ...send03(), method: undefined }, 1],
])('an invalid request gets -32600: %s', async (_, sent, id) => {
  const { status, body } = await post(sent)

  expect(status).toBe(200)
  expect(body).toMatchObject({ jsonrpc: '2.0', id, error: { code: -32600 } })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

test.each([['text'], [''], [0], [-1]])(
  'the response repeats the id %j unchanged',
  async (id) => {
    expect((await post({ ...send03(), id })).body).toMatchObject({ id, result: { kind: 'message' } })
    expect((await post(request('no/such', {}, id))).body).toMatchObject({ id, error: { code: -32601 } })
  },
)

test.each([[1.5], [null], [true], [{}]])('a request with the id %j is refused, and sends nothing', async (id) => {
  expect((await post({ ...send03(), id })).body).toMatchObject({ id: null, error: { code: -32600 } })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

test('the response to a request without id has the id null', async () => {
  const { status, body } = await post({ ...request('no/such'), id: undefined })

  expect(status).toBe(200)
  expect(body).toMatchObject({ id: null, error: { code: -32601 } })
})

test.each(['no/such', 'tasks/send', 'sendMessage', 'message/Send', '', 'constructor', '__proto__'])(
  'the method %j is refused as unknown before params are checked',
  async (method) => {
    const { status, body } = await post(request(method, 'nonsense'))

    expect(status).toBe(200)
    expect(body.error).toMatchObject({ code: -32601, data: [{ fieldViolations: [{ field: 'method' }] }] })
  },
)

test.each(['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'GetTask', 'CancelTask', 'SubscribeToTask'])(
  'the method %s validates its params before it looks for a task',
  async (method) => {
    const field = async (params: unknown) =>
      (await post(request(method, params))).body.error.data[0].fieldViolations[0].field

    expect(await field(undefined)).toBe('params')
    expect(await field([])).toBe('params')
    expect(await field({})).toBe('id')
    expect(await field({ id: 1 })).toBe('id')
    expect(await field({ id: '' })).toBe('id')
    expect((await post(request(method, { id: 't-1' }))).body.error).toMatchObject({
      code: -32001,
      data: [{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org', metadata: { taskId: 't-1' } }],
    })
  },
)

test.each(['', '0.3', '0.3.0', '0.3.17', '1.0', '1.0.1', ' 1.0 '])(
  'A2A-Version %j is accepted',
  async (version) => {
    for (const path of [endpoint, `${endpoint}/`]) {
      expect((await post(send03(), { 'A2A-Version': version }, path)).body.result.kind).toBe('message')
      expect((await post(send10(), { 'A2A-Version': version }, path)).body.result.message.role).toBe('ROLE_AGENT')
    }
  },
)

test.each(['99.0', '1', '1.1', '0.2', '1.0.x', 'v1.0', '1.0, 0.3'])(
  'A2A-Version %j gets -32009',
  async (version) => {
    const answers = [
      await post(send03(), { 'A2A-Version': version }),
      await post(request('no/such'), { 'A2A-Version': version }),
      await post(send10(), {}, `${endpoint}?A2A-Version=${encodeURIComponent(version)}`),
    ]

    for (const { status, body } of answers) {
      expect(status).toBe(200)
      expect(body).toMatchObject({ id: 1, error: { code: -32009 } })
      expect(body.error.data).toEqual([{
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'VERSION_NOT_SUPPORTED',
        domain: 'a2a-protocol.org',
        metadata: { supported: '0.3,1.0' },
      }])
    }
  },
)

test('the response states the version of the method, or the requested version if the method is unknown', async () => {
  const version = async (body: unknown, headers?: Record<string, string>, path?: string) =>
    (await post(body, headers, path)).headers.get('a2a-version')

  expect(await version(send10(), { 'A2A-Version': '1.0.1' })).toBe('1.0')
  expect(await version(send10())).toBe('1.0')
  expect(await version(send03(), { 'A2A-Version': '1.0' })).toBe('0.3')
  expect(await version(send10({ parts: [] }))).toBe('1.0')
  expect(await version(request('no/such'), {}, `${endpoint}?A2A-Version=1.0`)).toBe('1.0')
  expect(await version(request('no/such'))).toBeNull()
})

test('the response names the activated extensions, and unknown extensions are ignored', async () => {
  const uri = 'http://localhost:8787/a2a/ext/grid-routing/v1'
  const both = `https://x.example/unknown, ${uri}`

  const in10 = await post(send10(), { 'A2A-Extensions': both })
  const in03 = await post(send03(), { 'X-A2A-Extensions': both })
  const none = await post(send10(), { 'A2A-Extensions': 'https://x.example/unknown' })

  expect(in10.headers.get('a2a-extensions')).toBe(uri)
  expect(in03.headers.get('x-a2a-extensions')).toBe(uri)
  expect(none.headers.get('a2a-extensions')).toBeNull()
  expect(none.body.result.message.role).toBe('ROLE_AGENT')
})

test('an unexpected error is logged, and the response omits its details', async () => {
  await grid.store.write([{ sql: 'ALTER TABLE messages RENAME TO lost', args: [] }])

  const { status, headers, body } = await post(send03())

  expect(body).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32603, message: expect.any(String) } })
  expect(JSON.stringify(body)).not.toMatch(/messages|lost|SQL/)
  expect(status).toBe(200)
  expect(grid.logs.join('\n')).toContain(headers.get('x-request-id'))
})

function unknownKey(): string {
  return mintKey('agent_key').key
}

function post(body: unknown, headers?: Record<string, string>, path?: string) {
  return postA2a(grid, grid.alice.key, body, headers, path)
}

test("a number that would lose digits is refused with its path and the request's id", async () => {
  const response = await grid.request('/a2a/v1/grid', {
    method: 'POST',
    headers: { Authorization: `Bearer ${grid.alice.key}`, 'Content-Type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"metadata":{"n":1915883588174806058}}}',
  })

  expect(await response.json()).toMatchObject({
    id: 7,
    error: { code: -32602, message: 'params.metadata.n has more digits than a number keeps. Send it as text.' },
  })
})
