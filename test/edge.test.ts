/** What every request passes before its door (security 6.1, O16, D1, D14). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connect } from '../src/store/driver/local-client.ts'
import { type TestGrid, testGrid, type TestGridOptions } from './support/grid.ts'

const hosts = { BASE_URL: 'https://api.grid.example', APP_URL: 'https://app.grid.example' }

let grid: TestGrid
let open: (options: TestGridOptions) => Promise<void>
beforeEach(async () => {
  grid = await testGrid({ env: hosts })
  open = async (options) => {
    await grid.close()
    grid = await testGrid(options)
  }
})
afterEach(() => grid.close())

describe('the Host', () => {
  test('unknown, is answered 421 on every route, and appears in no answer', async () => {
    expect(routes().length).toBeGreaterThan(10)
    for (const { method, path } of routes()) {
      const response = await grid.request(path, {
        method,
        headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' },
      })

      expect([method, path, response.status]).toEqual([method, path, 421])
      expect(await response.text()).not.toContain('evil.example')
      expect(response.headers.get('x-request-id')).toBeTruthy()
    }
  })

  test.each([
    ['api.grid.example', 200],
    ['app.grid.example', 200],
    ['API.Grid.Example', 200],
    ['grid.example', 421],
    ['api.grid.example.evil.example', 421],
    ['evil.example#api.grid.example', 421],
    ['api.grid.example:8080', 421],
    ['api.grid.example:443', 200],
    ['api.grid.example:80', 421],
    ['localhost', 421],
    ['127.0.0.1', 421],
    ['', 421],
  ])('%j is answered %i', async (host, status) => {
    expect((await grid.request('/healthz', { headers: { Host: host } })).status).toBe(status)
  })

  test.each([
    ['localhost:8787', 200],
    ['127.0.0.1:8787', 200],
    ['[::1]:8787', 200],
    ['localhost', 421],
    ['localhost:80', 421],
    ['rebound.evil.example:8787', 421],
    ['0.0.0.0:8787', 421],
    ['127.0.0.2:8787', 421],
  ])('%j is answered %i on a grid at home', async (host, status) => {
    await open({})

    expect((await grid.request('/healthz', { headers: { Host: host } })).status).toBe(status)
  })

  test('forwarded, changes nothing', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http', Forwarded: 'host=evil.example' }

    for (const { method, path } of routes()) {
      const response = await grid.request(path, { method, headers })
      const answer = `${await response.text()} ${JSON.stringify([...response.headers])}`
      expect([path, answer.includes('evil.example')]).toEqual([path, false])
    }
  })
})

describe('the Origin', () => {
  const status = async (origin: string) => (await grid.request('/healthz', { headers: { Origin: origin } })).status

  test('foreign, is answered 403 on every route of a grid at home', async () => {
    await open({})
    for (const { method, path } of routes()) {
      const response = await grid.request(path, { method, headers: { Origin: 'https://evil.example' } })
      expect([method, path, response.status]).toEqual([method, path, 403])
    }
  })

  test.each([
    ['http://localhost:3000', 200],
    ['http://127.0.0.1', 200],
    ['http://[::1]:9999', 200],
    ['https://localhost', 200],
    ['null', 403],
    ['', 403],
    ['http://localhost.evil.example', 403],
    ['http://evil.example/localhost', 403],
    ['http://127.0.0.1.evil.example', 403],
    ['localhost', 403],
    ['file://', 403],
  ])('%j is answered %i on a grid at home', async (origin, expected) => {
    await open({})

    expect(await status(origin)).toBe(expected)
  })

  test('is free where callers bring their own credential, and a list closes it', async () => {
    expect(await status('https://anywhere.example')).toBe(200)

    await open({ env: { ...hosts, ALLOWED_ORIGINS: 'https://friend.example/, https://other.example' } })

    expect(await status('https://friend.example')).toBe(200)
    expect(await status('https://app.grid.example')).toBe(200)
    expect(await status('https://anywhere.example')).toBe(403)
    expect(await status('https://friend.example.evil.example')).toBe(403)
    expect(await status('http://friend.example')).toBe(403)
  })

  test('of the own web application may call an API at home', async () => {
    await open({ env: { APP_URL: 'https://app.grid.example' } })

    expect(await status('https://app.grid.example')).toBe(200)
    expect(await status('https://evil.example')).toBe(403)
  })
})

describe('every answer', () => {
  const requests = () => [
    ...routes(),
    { method: 'GET', path: '/nowhere' },
    { method: 'POST', path: '/healthz' },
    { method: 'DELETE', path: '/mcp/v1/grid' },
    { method: 'GET', path: '/%2e%2e/etc/passwd' },
    { method: 'GET', path: '//etc/passwd' },
  ]

  test('carries the headers that keep browsers from guessing, and an id of its own', async () => {
    const ids = new Set<string>()
    for (const { method, path } of requests()) {
      for (const headers of [{}, { Host: 'evil.example' }] as Record<string, string>[]) {
        const response = await grid.request(path, { method, headers })
        const header = (name: string) => response.headers.get(name)
        // With no-referrer a browser sends our own forms with `Origin: null`.
        const isPage = header('content-type')?.startsWith('text/html')
        expect([path, header('x-content-type-options'), header('referrer-policy'), header('cache-control') !== null])
          .toEqual([path, 'nosniff', isPage ? 'same-origin' : 'no-referrer', true])

        ids.add(header('x-request-id')!)
      }
    }

    expect(ids.size).toBe(requests().length * 2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
  })

  test("does not take the caller's id for its own", async () => {
    const response = await grid.request('/healthz', { headers: { 'X-Request-Id': 'mine' } })

    expect(response.headers.get('x-request-id')).not.toBe('mine')
  })

  test('asks browsers to stay on HTTPS where all is HTTPS, and only there', async () => {
    expect((await grid.request('/')).headers.get('strict-transport-security')).toBe('max-age=31536000')

    const foreign = await grid.request('/', { headers: { Host: 'evil.example' } })
    expect(foreign.headers.get('strict-transport-security')).toBeNull()

    await open({})

    expect((await grid.request('/')).headers.get('strict-transport-security')).toBeNull()
  })

  test('of a tool carries the headers of all others', async () => {
    const list = () =>
      grid.request('/mcp/v1/signup', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
    const namesAndValues = async () => {
      const { status, headers } = await list()
      expect(status).toBe(200)
      const { 'x-request-id': id, 'content-length': _, ...others } = Object.fromEntries(headers)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
      return others
    }
    const everywhere = {
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'WWW-Authenticate, ETag, A2A-Version',
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    }
    expect(await namesAndValues()).toEqual({ ...everywhere, 'strict-transport-security': 'max-age=31536000' })

    await open({})

    expect(await namesAndValues()).toEqual(everywhere)
  })

  test('that is a page allows only our own style sheet and script, and no frame', async () => {
    const response = await grid.request('/')
    const page = await response.text()

    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; " +
        "base-uri 'none'; frame-ancestors 'none'",
    )
    expect(page).not.toMatch(/<script(?! src=)|<style|\sstyle=|\son\w+=/)
  })

  test('that a page loads beside itself may be kept for ever, as its path names its content', async () => {
    const page = await (await grid.request('/')).text()
    const loaded = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path)

    expect(loaded).toEqual([
      expect.stringMatching(/^\/assets\/app\.[0-9a-f]{16}\.css$/),
      expect.stringMatching(/^\/assets\/app\.[0-9a-f]{16}\.js$/),
    ])
    for (const path of loaded) {
      const response = await grid.request(path)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(response.headers.get('content-type')).toBe(
        path.endsWith('css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      )
    }
  })

  test('never allows credentials to other origins', async () => {
    for (const { method, path } of requests()) {
      const response = await grid.request(path, { method, headers: { Origin: 'https://anywhere.example' } })
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })
})

describe('a request that fits nothing', () => {
  test.each([
    ['GET', '/nowhere', 404, 'not_found'],
    ['GET', '/api/v1/agentic-signup/', 404, 'not_found'],
    ['GET', '/healthz/x', 404, 'not_found'],
    ['GET', '/constructor', 404, 'not_found'],
    ['POST', '/healthz', 405, 'method_not_allowed'],
    ['DELETE', '/readyz', 405, 'method_not_allowed'],
    ['GET', '/api/v1/agentic-signup', 405, 'method_not_allowed'],
  ])('%s %s is answered %i in the words of REST', async (method, path, status, code) => {
    const response = await grid.request(path, { method })

    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error: { code, message: expect.stringContaining(path) } })
    if (status === 405) expect(response.headers.get('allow')).toMatch(/^(GET|POST)$/)
  })

  test('is a page for whoever asks for one, with what was asked for escaped', async () => {
    const response = await grid.request('/<b>nowhere</b>', { headers: { Accept: 'text/html,*/*;q=0.8' } })

    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(await response.text()).toMatch(/<h1>Nothing is here<\/h1><p>There is nothing at GET \/[^<]*nowhere/)
  })

  test('HEAD is answered as GET without a body', async () => {
    const response = await grid.request('/healthz', { method: 'HEAD' })

    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

describe('an error of ours', () => {
  test('says nothing about itself; the log has it under the id of the request', async () => {
    await open({
      env: hosts,
      connect(config) {
        const client = connect(config)
        const execute = client.execute.bind(client)
        client.execute = ((statement: never) => {
          return JSON.stringify(statement).includes('signups')
            ? Promise.reject(new Error('the inner fault'))
            : execute(statement)
        }) as typeof client.execute
        return client
      },
    })

    const response = await grid.post('/api/v1/agentic-signup', { alias: 'zoe', owner_email: 'ann@owner.example' })

    expect(response.status).toBe(500)
    expect(await response.text()).toBe('{"error":{"code":"internal","message":"Internal error"}}')
    const line = grid.logs.map((text) => JSON.parse(text)).find(({ level }) => level === 'error')
    expect(line).toMatchObject({
      message: 'Unexpected error',
      error: { message: 'the inner fault' },
      requestId: response.headers.get('x-request-id'),
    })
  })
})

describe('health', () => {
  test('says that the process lives, and no more', async () => {
    const response = await grid.request('/healthz')

    expect([response.status, await response.text()]).toEqual([200, '{"status":"ok"}'])
  })

  test.each(['full', 'relaxed'])('says how durable an acknowledged message is: %s', async (durability) => {
    await open({ env: { ...hosts, DURABILITY: durability } })

    const response = await grid.request('/readyz')

    expect([response.status, await response.json()]).toEqual([200, { status: 'ready', durability }])
  })

  test('says 503 with Retry-After when the database does not answer', async () => {
    let answers = true
    await open({
      env: hosts,
      connect(config) {
        const client = connect(config)
        const execute = client.execute.bind(client)
        client.execute = ((statement: never) =>
          answers ? execute(statement) : Promise.reject(new Error('secret path'))) as typeof client.execute
        return client
      },
    })
    answers = false

    const response = await grid.request('/readyz')
    answers = true

    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toEqual({ status: 'database unreachable', durability: 'relaxed' })
    expect((await grid.request('/healthz')).status).toBe(200)
  })
})

/** Every route of the service as a request; the routes of middleware match everything and are none. */
function routes(): { method: string; path: string }[] {
  const seen = new Map<string, { method: string; path: string }>()
  for (const { method, path } of grid.app.routes) {
    if (path === '/*' || path === '*') continue
    for (const one of method === 'ALL' ? ['GET', 'POST', 'DELETE', 'OPTIONS'] : [method]) {
      const concrete = path.replace(/:\w+|\*/g, 'x')
      seen.set(`${one} ${concrete}`, { method: one, path: concrete })
    }
  }
  return [...seen.values()]
}
