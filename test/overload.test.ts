/** The responses of an overloaded process (docs/security.md, "Overload"). */
import { beforeEach, describe, expect, test } from 'vitest'
import { apiLimits } from '../src/lib/http/body.ts'
import { type TestGrid, testGrid } from './support/grid.ts'
import { turn } from './support/wait-for.ts'

let grid: TestGrid
beforeEach(async () => grid = await testGrid())

const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })

function mcp(body = list) {
  const headers = {
    Authorization: `Bearer ${grid.alice.key}`,
    Accept: 'application/json, text/event-stream',
    'Content-Length': `${body.length}`,
    Origin: 'http://localhost:9',
  }
  return grid.post('/mcp/v1/grid', body, headers)
}

describe('an overloaded process', () => {
  beforeEach(() => {
    for (let n = 0; n < 4; n++) {
      grid.deps.overload.report(60_000)
      grid.deps.overload.sample()
    }
  })

  test.each(['/mcp/v1/grid', '/a2a/v1/grid'])('an overloaded process answers 503 as JSON-RPC on %s', async (path) => {
    const response = await grid.post(path, list, { Authorization: `Bearer ${grid.alice.key}` })

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32603, message: 'The grid is overloaded. Repeat the call in 2 seconds.' },
    })
  })

  test.each([
    ['GET', '/'],
    ['POST', '/api/v1/agentic-signup'],
    ['POST', '/oauth/token'],
    ['GET', '/api/agents/wake-stream'],
  ])('an overloaded process responds with 503 and Retry-After to %s %s', async (method, path) => {
    const response = await grid.request(path, { method })

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(response.headers.get('x-request-id')).toBeTruthy()
  })

  test('an overloaded process remains alive and ready', async () => {
    expect((await grid.request('/healthz')).status).toBe(200)
    expect((await grid.request('/readyz')).status).toBe(200)
  })

  test('a process recovers after an overload', async () => {
    for (let n = 0; n < 4; n++) grid.deps.overload.sample()

    expect((await mcp()).status).toBe(200)
  })
})

describe('a call that waits too long for its turn', () => {
  const call = (path: string, method: string, waitedMs: number) => {
    const headers = {
      Authorization: `Bearer ${grid.alice.key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    }
    const env = { remoteAddress: '203.0.113.7', waitedMs }
    return grid.app.request(new URL(path, grid.deps.config.baseUrl).href, {
      method,
      headers,
      body: method === 'POST' ? list : undefined,
    }, env)
  }
  const message = 'Too many of your calls are waiting. Repeat the call in 2 seconds.'
  const inRpc = { jsonrpc: '2.0', id: null, error: { code: -32603, message } }

  test.each([
    ['/mcp/v1/grid', 'POST', inRpc],
    ['/a2a/v1/grid', 'POST', inRpc],
    ['/api/v1/inbox', 'GET', { error: { code: 'unavailable', message } }],
  ])("a call that waits too long is refused at %s in the interface's format", async (path, method, body) => {
    const refused = await call(path, method, 3_001)

    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await refused.json()).toEqual(body)
    expect((await call(path, method, 3_000)).status).toBe(200)
  })
})

describe('request bodies in flight', () => {
  const stranger = '198.51.100.1'

  /** Starts requests of one caller, with bodies that never end. Each request declares this many bytes. */
  async function hold(
    count: number,
    { declared, sent }: { declared: number; sent: number },
    caller = stranger,
  ) {
    for (let n = 0; n < count; n++) {
      const body = new ReadableStream({ start: (controller) => void controller.enqueue(new Uint8Array(sent)) })
      const headers = { 'Content-Length': `${declared}` }
      const request = new Request('http://localhost', { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
      grid.deps.bodies.begin(request, caller)
      void grid.deps.bodies.readText(request, apiLimits).catch(() => grid.deps.bodies.release(request))
    }
    await turn()
  }

  test('request bodies count until the response, and no longer', async () => {
    expect((await mcp()).status).toBe(200)
    expect(grid.deps.bodies.bytes).toBe(0)
    await hold(1, { declared: 1_000, sent: 1 })
    expect(grid.deps.bodies.bytes).toBe(1_000)
  })

  test('request bodies that are large or of undeclared length count as they arrive', async () => {
    await hold(100, { declared: 200_000, sent: 10 })
    expect(grid.deps.bodies.bytes).toBe(1_000)
  })

  test('2,000 silent uploads from two addresses leave most of the budget for request bodies', async () => {
    const other = '198.51.100.2'
    await hold(500, { declared: 65_000, sent: 1 })
    await hold(500, { declared: 65_000, sent: 1 }, other)
    await hold(500, { declared: 16_000, sent: 1 })
    await hold(500, { declared: 16_000, sent: 1 }, other)
    expect(grid.deps.bodies.bytes).toBeGreaterThan(800_000)
    expect(grid.deps.bodies.bytes).toBeLessThan(64 * 2 ** 20 / 4)

    expect((await mcp()).status).toBe(200)
    expect((await mcp(list.padEnd(200_000))).status).toBe(200)
  })

  const full = () => hold(5_000, { declared: 16_000, sent: 1 }, 'any')

  test('a caller beyond the limit of request bodies gets 503 with Retry-After', async () => {
    await full()
    const response = await mcp(list.padEnd(16_000))

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32603, message: 'The grid is reading too many requests. Repeat the call in a second.' },
    })
    expect((await grid.request('/healthz')).status).toBe(200)
  })

  test('a caller beyond the limit of request bodies gets 503 over A2A too', async () => {
    await full()
    const body = list.padEnd(16_000)
    const headers = { Authorization: `Bearer ${grid.alice.key}`, 'Content-Length': `${body.length}` }
    const response = await grid.post('/a2a/v1/grid', body, headers)

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ error: { code: -32603 } })
  })
})
