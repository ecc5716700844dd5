/** What an overloaded process answers (docs/security.md, "Overload" and "Bodies in flight"). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { apiLimits } from '../src/lib/body.ts'
import { type TestGrid, testGrid } from './support/grid.ts'

let grid: TestGrid
beforeEach(async () => grid = await testGrid({ env: { MAX_BODY_BYTES_IN_FLIGHT: '1048576' } }))
afterEach(() => grid.close())

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

  test.each(['/mcp/v1/grid', '/a2a/v1/grid'])('answers 503 as JSON-RPC on %s', async (path) => {
    const response = await grid.post(path, list, { Authorization: `Bearer ${grid.alice.key}` })

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32603, message: 'The grid is overloaded. Repeat the call in 2 seconds.' },
    })
  })

  test('lets a page of another origin read the refusal', async () => {
    expect((await mcp()).headers.get('access-control-allow-origin')).toBe('*')
  })

  test.each([
    ['GET', '/'],
    ['POST', '/api/v1/agentic-signup'],
    ['POST', '/oauth/token'],
    ['GET', '/api/agents/wake-stream'],
  ])('answers 503 with Retry-After to %s %s', async (method, path) => {
    const response = await grid.request(path, { method })

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2'])
    expect(response.headers.get('x-request-id')).toBeTruthy()
  })

  test('is alive and ready', async () => {
    expect((await grid.request('/healthz')).status).toBe(200)
    expect((await grid.request('/readyz')).status).toBe(200)
  })

  test('answers again when it no longer is', async () => {
    for (let n = 0; n < 4; n++) grid.deps.overload.sample()

    expect((await mcp()).status).toBe(200)
  })
})

describe('bodies in flight', () => {
  /** Requests whose bodies never end. Each declares so many bytes. */
  function hold(count: number, bytes: number) {
    for (let n = 0; n < count; n++) {
      const init = {
        method: 'POST',
        headers: { 'Content-Length': `${bytes}` },
        body: new ReadableStream(),
        duplex: 'half',
      }
      const request = new Request('http://localhost', init as RequestInit)
      void grid.deps.bodies.readText(request, apiLimits)
    }
  }

  test('are counted until they are answered, and no longer', async () => {
    expect((await mcp()).status).toBe(200)
    expect(grid.deps.bodies.bytes).toBe(0)
    hold(1, 1_000)
    expect(grid.deps.bodies.bytes).toBe(1_000)
  })

  test('are limited: large ones to three quarters, 503 with Retry-After beyond', async () => {
    hold(3, 256 * 1024)
    const response = await mcp(list.padEnd(17_000))

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32603, message: 'The grid is reading too many requests. Repeat the call in a second.' },
    })
    expect((await mcp()).status).toBe(200)
    hold(16, 16 * 1024)
    expect((await mcp()).status).toBe(503)
    expect((await grid.request('/healthz')).status).toBe(200)
  })

  test('are limited for A2A too', async () => {
    hold(3, 256 * 1024)
    const body = list.padEnd(17_000)
    const headers = { Authorization: `Bearer ${grid.alice.key}`, 'Content-Length': `${body.length}` }
    const response = await grid.post('/a2a/v1/grid', body, headers)

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ error: { code: -32603 } })
  })

  test('of undeclared length are counted as they come', async () => {
    hold(3, 256 * 1024)
    const init = { method: 'POST', body: new Blob(['x'.repeat(20_000)]).stream(), duplex: 'half' }
    const request = new Request('http://localhost', init as RequestInit)

    await expect(grid.deps.bodies.readText(request, apiLimits)).rejects.toMatchObject({ code: 'unavailable' })
  })
})
