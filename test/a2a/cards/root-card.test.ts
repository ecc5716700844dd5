import { beforeEach, expect, test } from 'vitest'
import { card10Paths, rootCardPaths } from '../../../src/a2a/cards/cards.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'

const card = '/.well-known/agent-card.json'
const url = 'https://grid.example/a2a/v1/grid'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { BASE_URL: 'https://grid.example' } })
})

test('the root card is public and names the endpoint for clients of 0.3 and 1.0', async () => {
  const response = await grid.request(card)

  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(await response.json()).toMatchObject({
    name: 'agent-grid',
    protocolVersion: '0.3.0',
    url,
    preferredTransport: 'JSONRPC',
    additionalInterfaces: [{ url, transport: 'JSONRPC' }],
    security: [{ bearer: [] }],
    supportedInterfaces: [
      { url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
      { url, protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      { url, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
    ],
    supportsAuthenticatedExtendedCard: true,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'deliver', name: 'Deliver', description: expect.any(String), tags: ['messaging'] }],
  })
})

test.each([
  [card, { 'A2A-Version': '1.0' }],
  [card, { 'A2A-Version': '1.0.1' }],
  [`${card}?A2A-Version=1.0`, {}],
  [card10Paths.root, {}],
  [card10Paths.root, { 'A2A-Version': '0.3' }],
])('the card at %s with %j has only members of version 1.0', async (path, headers) => {
  const response = await grid.request(path, { headers })
  const body = await response.json()

  expect(Object.keys(body).sort()).toEqual([
    'capabilities',
    'defaultInputModes',
    'defaultOutputModes',
    'description',
    'name',
    'securityRequirements',
    'securitySchemes',
    'signatures',
    'skills',
    'supportedInterfaces',
    'version',
  ])
  expect(body.securitySchemes).toEqual({ bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } })
  expect(response.headers.get('a2a-version')).toBe('1.0')
})

test.each(['0.3', '99.0', ''])('a request with A2A-Version %j gets the card for both versions', async (version) => {
  const response = await grid.request(card, { headers: { 'A2A-Version': version } })

  expect(await response.json()).toHaveProperty('url', url)
})

test.each(rootCardPaths)('the root card is served at %s', async (path) => {
  expect(await (await grid.request(path)).text()).toBe(await (await grid.request(card)).text())
})

test('an unchanged card is not resent', async () => {
  const first = await grid.request(card)
  const etag = first.headers.get('etag')!
  const status = async (ifNoneMatch: string, headers = {}) =>
    (await grid.request(card, { headers: { 'If-None-Match': ifNoneMatch, ...headers } })).status

  expect(await status(etag)).toBe(304)
  expect(await status(`"other", ${etag.replace('W/', '')}`)).toBe(304)
  expect(await status(`"other", ${etag}`)).toBe(304)
  expect(await status('*')).toBe(304)
  expect(await status('"other"')).toBe(200)
  expect(await status(etag, { 'A2A-Version': '1.0' })).toBe(200)
})

test('caches keep the versions of a card apart, and pages of any origin may read the card', async () => {
  const get = await grid.request(card, { headers: { Origin: 'https://page.example' } })
  const head = await grid.request(card, { method: 'HEAD' })
  const options = await grid.request(card, { method: 'OPTIONS', headers: { Origin: 'https://page.example' } })

  expect(get.headers.get('vary')).toContain('A2A-Version')
  expect(get.headers.get('cache-control')).toBe('public, max-age=300')
  expect(Date.parse(get.headers.get('last-modified')!)).toBe(grid.clock.now)
  expect(get.headers.get('access-control-allow-origin')).toBe('*')
  expect(head.status).toBe(200)
  expect(await head.text()).toBe('')
  expect(head.headers.get('etag')).toBe(get.headers.get('etag'))
  expect(options.status).toBe(204)
  expect(options.headers.get('access-control-allow-headers')).toContain('A2A-Version')
})

test('URLs in a card come from the configuration, not from request headers', async () => {
  const response = await grid.request(card, {
    headers: { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http', Forwarded: 'host=evil.example' },
  })

  expect(await response.text()).not.toContain('evil')
})
