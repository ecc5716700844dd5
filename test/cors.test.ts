/** Endpoints that pages of other origins can use. See docs/protocol/README.md, "Hosts". */
import { beforeEach, expect, test } from 'vitest'
import { send03 } from './support/a2a.ts'
import { type TestGrid, testGrid } from './support/grid.ts'

const card = '/.well-known/agent-card.json'
const fromPage = { Origin: 'https://app.example' }

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://api.grid.example', APP_URL: 'https://grid.example' } })
})

const json = (body: unknown) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})
const agentKey = () => ({ Authorization: `Bearer ${grid.alice.key}` })

/** Requests that pages of any origin may make, with the response's status. */
const requests: [path: string, status: number, init?: () => RequestInit][] = [
  [card, 200],
  [card, 304, () => ({ headers: { 'If-None-Match': '*' } })],
  ['/a2a/ext/grid-routing/v1', 200],
  ['/api/agents/wake-stream', 200, () => ({ headers: agentKey() })],
  ['/api/agents/wake-stream', 401],
  ['/api/agents/wake-stream', 403, () => ({ headers: { Authorization: `Bearer ${grid.acme.adminKey}` } })],
  ['/.well-known/oauth-protected-resource', 200],
  ['/.well-known/oauth-protected-resource/nothing', 404],
  ['/.well-known/oauth-authorization-server', 200],
  ['/oauth/token', 400, () => ({ method: 'POST' })],
  ['/oauth/register', 400, () => json({})],
  ['/oauth/revoke', 400, () => ({ method: 'POST' })],
  ['/api/oauth/api-key', 401, () => ({ method: 'POST' })],
]

test.each(requests)('a page of another origin can read %s with status %i', async (path, status, init) => {
  const { headers, ...rest } = init?.() ?? {}
  const response = await grid.request(path, { ...rest, headers: { ...headers as Record<string, string>, ...fromPage } })
  await response.body?.cancel()

  expect(response.status).toBe(status)
  expect(response.headers.get('access-control-allow-origin')).toBe('*')
  expect(response.headers.get('access-control-expose-headers')).toBe(
    'WWW-Authenticate,ETag,A2A-Version,Retry-After,RateLimit,RateLimit-Policy',
  )
  expect(response.headers.has('access-control-allow-credentials')).toBe(false)
})

test.each([...new Set(requests.map(([path]) => path))])(
  "a preflight of %s allows the clients' headers",
  async (path) => {
    const response = await grid.request(path, { method: 'OPTIONS', headers: fromPage })

    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST,OPTIONS')
    expect(response.headers.get('access-control-allow-headers')).toContain('Authorization,Content-Type')
    expect(response.headers.get('access-control-max-age')).toBe('86400')
  },
)

test.each<[path: string, status: number, init?: () => RequestInit]>([
  ['/a2a/v1/grid', 200, () => ({ ...json(send03()), headers: { ...json({}).headers, ...agentKey() } })],
  ['/a2a/v1/grid', 401, () => json(send03())],
  ['/api/v1/agentic-signup', 201, () => json({ owner_email: 'zoe@example.com', alias: 'zoe' })],
  ['/', 200],
  ['/sign-in', 200],
  ['/oauth/authorize', 400],
  ['/healthz', 200],
  ['/nothing', 404],
])('a page of another origin cannot read %s with status %i', async (path, status, init) => {
  const { headers, ...rest } = init?.() ?? {}
  const response = await grid.request(path, { ...rest, headers: { ...headers as Record<string, string>, ...fromPage } })

  expect(response.status).toBe(status)
  expect(response.headers.has('access-control-allow-origin')).toBe(false)
})

test.each([card, '/a2a/ext/grid-routing/v1'])('caches store %s separately for pages and for programs', async (path) => {
  const forProgram = await grid.request(path)
  const forPage = await grid.request(path, { headers: fromPage })

  expect(forProgram.headers.has('access-control-allow-origin')).toBe(false)
  for (const { headers } of [forProgram, forPage]) expect(headers.get('vary')).toMatch(/\bOrigin$/)
})
