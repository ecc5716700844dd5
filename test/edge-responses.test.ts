/** Headers of every response, unknown routes, internal errors and health (docs/security.md, "Requests"). */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { version } from '../src/lib/version.ts'
import { connect } from '../src/store/driver/remote-client.ts'
import { type TestGrid, testGrid, type TestGridOptions } from './support/grid.ts'
import { routesOf } from './support/routes.ts'

const hosts = { BASE_URL: 'https://api.grid.example', APP_URL: 'https://app.grid.example' }

let grid: TestGrid
let open: (options: TestGridOptions) => Promise<void>
beforeEach(async () => {
  grid = await testGrid({ env: hosts })
  open = async (options) => {
    grid = await testGrid(options)
  }
})

describe('every response', () => {
  const requests = () => [
    ...routesOf(grid),
    { method: 'GET', path: '/nowhere' },
    { method: 'POST', path: '/healthz' },
    { method: 'DELETE', path: '/mcp/v1/grid' },
    { method: 'GET', path: '/%2e%2e/etc/passwd' },
    { method: 'GET', path: '//etc/passwd' },
  ]

  test('every response has the security headers and its own request id', async () => {
    const ids = new Set<string>()
    for (const { method, path } of requests()) {
      for (const headers of [{}, { Host: 'evil.example' }] as Record<string, string>[]) {
        const response = await grid.request(path, { method, headers })
        const header = (name: string) => response.headers.get(name)
        // Pages do not use no-referrer, because a browser would then send the grid's own forms with `Origin: null`.
        const isPage = header('content-type')?.startsWith('text/html')
        expect([path, header('x-content-type-options'), header('referrer-policy'), header('cache-control') !== null])
          .toEqual([path, 'nosniff', isPage ? 'same-origin' : 'no-referrer', true])

        ids.add(header('x-request-id')!)
      }
    }

    expect(ids.size).toBe(requests().length * 2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
  })

  test("a response does not use the caller's request id", async () => {
    const response = await grid.request('/healthz', { headers: { 'X-Request-Id': 'mine' } })

    expect(response.headers.get('x-request-id')).not.toBe('mine')
  })

  test('responses have HSTS only if all origins are HTTPS', async () => {
    expect((await grid.request('/')).headers.get('strict-transport-security')).toBe('max-age=31536000')

    const foreign = await grid.request('/', { headers: { Host: 'evil.example' } })
    expect(foreign.headers.get('strict-transport-security')).toBeNull()

    await open({})

    expect((await grid.request('/')).headers.get('strict-transport-security')).toBeNull()
  })

  test('a response to an MCP call has the same headers as others', async () => {
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
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    }
    expect(await namesAndValues()).toEqual({ ...everywhere, 'strict-transport-security': 'max-age=31536000' })

    await open({})

    expect(await namesAndValues()).toEqual(everywhere)
  })

  test("a page allows only the grid's own style sheet and script, and no frames", async () => {
    const response = await grid.request('/')
    const page = await response.text()

    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
        "manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(page).not.toMatch(/<script(?! src=)|<style|\sstyle=|\son\w+=/)
  })

  test('an asset can be cached forever, because its path contains a hash of its content', async () => {
    const page = await (await grid.request('/')).text()
    const loaded = [...page.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)].map(([, path]) => path)

    expect(loaded).toEqual([
      expect.stringMatching(/^\/assets\/app\.[0-9a-f]{16}\.svg$/),
      expect.stringMatching(/^\/assets\/app\.[0-9a-f]{16}\.css$/),
      expect.stringMatching(/^\/assets\/app\.[0-9a-f]{16}\.js$/),
    ])
    for (const path of loaded) {
      const response = await grid.request(path)
      expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      const type = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' }[path.split('.').at(-1)!]
      expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`)
    }
  })

  test('an asset or the welcome page is compressed if the client accepts it', async () => {
    const [, ...loaded] = (await (await grid.request('/')).text()).split(/(?:href|src)="(?=\/assets\/)/)
    const sizes: string[] = []
    for (const path of ['/', ...loaded.map((rest) => rest.split('"')[0])]) {
      const plain = await grid.request(path)
      const text = await plain.text()
      const [br, gzip] = await Promise.all(['br', 'gzip'].map(async (coding) => {
        const response = await grid.request(path, { headers: { 'Accept-Encoding': `${coding}, deflate` } })
        expect(response.headers.get('content-encoding')).toBe(coding)
        expect(response.headers.get('cache-control')).toBe(plain.headers.get('cache-control'))
        return new Uint8Array(await response.arrayBuffer())
      }))

      expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([null, 'Accept-Encoding'])
      expect([brotliDecompressSync(br), gunzipSync(gzip)].map((bytes) => bytes.toString())).toEqual([text, text])
      // Compression does not halve the icon, because the icon is small.
      expect(br.length).toBeLessThan(path.endsWith('svg') ? text.length : text.length / 2)
      sizes.push(`${path}: ${text.length}, gzip ${gzip.length}, br ${br.length}`)
    }
    expect(sizes).toHaveLength(4)
    console.log(`bytes of static answers: ${sizes.join('; ')}`)
  })

  test('no response allows credentials from other origins', async () => {
    for (const { method, path } of requests()) {
      const response = await grid.request(path, { method, headers: { Origin: 'https://anywhere.example' } })
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })
})

describe('a request without a route', () => {
  test.each([
    ['GET', '/nowhere', 404, 'not_found'],
    ['GET', '/api/v1/agentic-signup//', 404, 'not_found'],
    ['GET', '/healthz/x', 404, 'not_found'],
    ['GET', '/constructor', 404, 'not_found'],
    ['POST', '/healthz', 405, 'method_not_allowed'],
    ['DELETE', '/readyz', 405, 'method_not_allowed'],
    ['GET', '/api/v1/agentic-signup', 405, 'method_not_allowed'],
  ])('%s %s gets %i as a REST error', async (method, path, status, code) => {
    const response = await grid.request(path, { method })

    expect(response.status).toBe(status)
    expect(await response.json()).toEqual({ error: { code, message: expect.stringContaining(path) } })
    if (status === 405) expect(response.headers.get('allow')).toMatch(/^(GET|POST)$/)
  })

  test('any method that a path does not support gets 405 and an Allow header', async () => {
    const byPath = new Map<string, string[]>()
    for (const { method, path } of routesOf(grid)) {
      // Tests only paths whose patterns do not overlap. The patterns of pages do.
      if (/^\/(api|a2a|oauth|assets|\.well-known)\//.test(path)) {
        byPath.set(path, [...byPath.get(path) ?? [], method])
      }
    }
    const answers: [path: string, method: string, status: number, allow: unknown][] = []
    for (const [path, methods] of byPath) {
      // Skips routes that accept every method, because they respond to unsupported methods themselves.
      if (grid.app.routes.some((route) => route.path === path && route.method === 'ALL')) continue
      for (
        const method of [
          ...methods.includes('PUT') ? [] : ['PUT'],
          'TRACE-X',
          ...methods.includes('GET') ? [] : ['GET'],
        ]
      ) {
        const response = await grid.request(path, { method })
        answers.push([path, method, response.status, response.headers.get('allow')?.split(', ').sort()])
      }
    }

    expect(answers.length).toBeGreaterThan(30)
    expect(answers).toEqual(answers.map(([path, method]) => [path, method, 405, byPath.get(path)!.sort()]))
  })

  test.each([
    ['PUT', '/api/v1/guardrails/a-name', 'GET, DELETE, PATCH'],
    ['POST', '/api/v1/parts/an-id', 'GET, PUT'],
    ['GET', '/accounts/a/guardrails/b/delete', 'POST'],
  ])('%s %s gets 405, as a page if it accepts HTML', async (method, path, allow) => {
    const json = await grid.request(path, { method })
    const page = await grid.request(path, { method, headers: { Accept: 'text/html' } })

    expect(await json.json()).toEqual({
      error: { code: 'method_not_allowed', message: `${path} takes ${allow}, not ${method}.` },
    })
    expect(await page.text()).toContain('Method not allowed')
    expect([json, page].map(({ status, headers }) => [status, headers.get('allow')])).toEqual([
      [405, allow],
      [405, allow],
    ])
  })

  test('the response for an unknown path is a page if the client accepts HTML, with the path escaped', async () => {
    const response = await grid.request('/<b>nowhere</b>', { headers: { Accept: 'text/html,*/*;q=0.8' } })

    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
    expect(await response.text()).toMatch(/<h1>Not found<\/h1><p>There is nothing at \/[^<]*nowhere/)
  })

  test('HEAD gets the response of GET without a body', async () => {
    const response = await grid.request('/healthz', { method: 'HEAD' })

    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})

describe('an internal error', () => {
  test('an internal error shows no details, and they are logged with the request id', async () => {
    await open({
      env: hosts,
      connect(config) {
        const client = connect(config)
        const execute = client.execute.bind(client)
        client.execute = ((statement: never) => {
          return JSON.stringify(statement).includes('attempts')
            ? Promise.reject(new Error('the inner error'))
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
      error: { message: 'the inner error' },
      requestId: response.headers.get('x-request-id'),
    })
  })
})

describe('health', () => {
  test('/healthz reports only that the process is alive', async () => {
    const response = await grid.request('/healthz')

    expect([response.status, await response.text()]).toEqual([200, '{"status":"ok"}'])
  })

  test.each(['full', 'relaxed'])('/readyz reports the durability of acknowledged messages: %s', async (durability) => {
    await open({ env: { ...hosts, DURABILITY: durability } })

    const response = await grid.request('/readyz')

    expect([response.status, await response.json()]).toEqual([200, { status: 'ready', durability, version }])
  })

  test('/readyz queries the database once a second, however often it is requested', async () => {
    let asked = 0
    await open({
      env: hosts,
      connect(config) {
        const client = connect(config)
        const execute = client.execute.bind(client)
        client.execute = ((statement: never) => {
          if (statement === 'SELECT 1') asked++
          return execute(statement)
        }) as typeof client.execute
        return client
      },
    })
    const startedAt = performance.now()
    const ready = () => grid.request('/readyz').then(({ status }) => status)
    const statuses = [...await Promise.all(Array.from({ length: 50 }, ready)), await ready()]

    expect(statuses).toEqual(Array(51).fill(200))
    expect(asked).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startedAt) / 1_000))
  })

  test('/readyz returns 503 with Retry-After if the database does not respond', async () => {
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
