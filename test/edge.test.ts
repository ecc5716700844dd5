/** The checks of Host and Origin on every request (docs/security.md, "Requests"). */
import { beforeEach, describe, expect, test } from 'vitest'
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

describe('Host', () => {
  test('an unknown Host gets 421 on every route except probes, and responses contain the host only as text', async () => {
    const routes = routesOf(grid).filter(({ path }) => !['/healthz', '/readyz'].includes(path))
    expect(routes.length).toBeGreaterThan(10)
    for (const { method, path } of routes) {
      const response = await grid.request(path, {
        method,
        headers: { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' },
      })

      expect([method, path, response.status]).toEqual([method, path, 421])
      expect(await response.text()).not.toMatch(/(?:\/\/|href="|@)evil\.example/)
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
    ['', 400],
    ['api.grid.example.', 200],
  ])('the Host %j gets %i', async (host, status) => {
    expect((await grid.request('/llms.txt', { headers: { Host: host } })).status).toBe(status)
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
  ])('the Host %j gets %i on a loopback grid', async (host, status) => {
    await open({})

    expect((await grid.request('/llms.txt', { headers: { Host: host } })).status).toBe(status)
  })

  test("with the process's address as Host, a probe is answered, and every other request is refused", async () => {
    const status = async (path: string, method = 'GET') =>
      (await grid.request(path, { method, headers: { Host: '10.1.2.3:8787' } })).status

    expect([await status('/healthz'), await status('/readyz'), await status('/healthz/')]).toEqual([200, 200, 200])
    for (const path of ['/', '/healthz//', '/readyz/x', '//healthz', '/HEALTHZ', '/llms.txt']) {
      expect([path, await status(path)]).toEqual([path, 421])
    }
  })

  test('an additional base URL serves programs, but no page or form', async () => {
    await open({ env: { ...hosts, EXTRA_BASE_URLS: 'http://grid.internal:8787/, http://localhost:9999' } })
    const forPrograms = /^\/(?:mcp|a2a|api|in\/|\.well-known|oauth\/(?!authorize)|healthz|readyz)/
    const seen = new Set<boolean>()
    for (const Host of ['grid.internal:8787', '127.0.0.1:9999']) {
      for (const { method, path } of routesOf(grid)) {
        const { status } = await grid.request(path, { method, headers: { Host } })
        seen.add(status === 421)
        expect([method, path, status === 421]).toEqual([method, path, !forPrograms.test(path)])
      }
    }
    expect([...seen].sort()).toEqual([false, true])

    const refused = await grid.request('/sign-in', { headers: { Host: 'grid.internal:8787' } })
    expect((await refused.json()).error.message).toBe(
      'http://grid.internal:8787 serves only programs. Pages are at https://app.grid.example.',
    )
  })

  test('forwarded host headers are ignored', async () => {
    const headers = { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http', Forwarded: 'host=evil.example' }

    for (const { method, path } of routesOf(grid)) {
      const response = await grid.request(path, { method, headers })
      const answer = `${await response.text()} ${JSON.stringify([...response.headers])}`
      expect([path, answer.includes('evil.example')]).toEqual([path, false])
    }
  })
})

describe('Origin', () => {
  const status = async (origin: string) => (await grid.request('/healthz', { headers: { Origin: origin } })).status

  test('a foreign Origin gets 403 on every route of a loopback grid', async () => {
    await open({})
    for (const { method, path } of routesOf(grid)) {
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
  ])('the Origin %j gets %i on a loopback grid', async (origin, expected) => {
    await open({})

    expect(await status(origin)).toBe(expected)
  })

  test('a public grid allows any Origin, unless ALLOWED_ORIGINS lists some', async () => {
    expect(await status('https://anywhere.example')).toBe(200)

    await open({ env: { ...hosts, ALLOWED_ORIGINS: 'https://friend.example/, https://other.example' } })

    expect(await status('https://friend.example')).toBe(200)
    expect(await status('https://app.grid.example')).toBe(200)
    expect(await status('https://anywhere.example')).toBe(403)
    expect(await status('https://friend.example.evil.example')).toBe(403)
    expect(await status('http://friend.example')).toBe(403)
  })

  test('listed origins of any scheme are allowed, even on a loopback grid, where * allows none', async () => {
    await open({ env: { ALLOWED_ORIGINS: '*,vscode-webview://1a2b,https://friend.example' } })

    expect(await status('vscode-webview://1a2b')).toBe(200)
    expect(await status('https://friend.example')).toBe(200)
    expect(await status('https://anywhere.example')).toBe(403)
    expect(await status('vscode-webview://other')).toBe(403)
  })

  test('the error of an unknown Host names this host, the served ones, and the settings', async () => {
    const response = await grid.request('/api/v1/me', { headers: { Host: 'agent-grid:8787' } })

    expect((await response.json()).error.message).toBe(
      'agent-grid:8787 is not served here, only https://api.grid.example, https://app.grid.example. Set BASE_URL and APP_URL to the public addresses, or add this one to EXTRA_BASE_URLS.',
    )
  })

  test('the error of an unknown Host does not list additional base URLs', async () => {
    await open({ env: { ...hosts, EXTRA_BASE_URLS: 'http://grid.internal:8787' } })
    const response = await grid.request('/api/v1/me', { headers: { Host: 'other.example' } })

    expect(response.status).toBe(421)
    expect(await response.text()).not.toContain('internal')
  })

  test("the web application's origin may call the API of a loopback grid", async () => {
    await open({ env: { APP_URL: 'https://app.grid.example' } })

    expect(await status('https://app.grid.example')).toBe(200)
    expect(await status('https://evil.example')).toBe(403)
  })
})
