/** Clients known by their own document (O11, S-O23; mcp.md 8.3 and test 9). */
import { afterEach, expect, test } from 'vitest'
import { day, hour, minute } from '../../src/lib/time.ts'
import { isDocumentUrl } from '../../src/oauth/client-document.ts'
import { createSafeFetch, type SafeFetch } from '../../src/lib/safe-fetch.ts'
import { createLog } from '../../src/log.ts'
import { documentProbe } from '../../src/oauth/document-probe.ts'
import { rows } from '../support/database.ts'
import {
  answer,
  exchange,
  issuer,
  type OAuthGrid,
  oauthGrid,
  openPage,
  pass,
  redirected,
  refresh,
} from '../support/oauth.ts'

const url = 'https://client.example/oauth/metadata.json'
const callback = 'http://localhost:51234/callback'

interface Document {
  status?: number
  headers?: Headers
  /** The body, unless `json` is. */
  text?: string
  json?: unknown
}

/** A web of documents: what is at each address, and who asked. */
function web(documents: Record<string, Document>) {
  const asked: string[] = []
  const safeFetch: SafeFetch = (address) => {
    asked.push(address)
    const found = documents[address]
    if (!found) return Promise.reject(new Error('unreachable'))
    const { status = 200, headers = new Headers({ 'content-type': 'application/json' }), json } = found
    return Promise.resolve({
      status,
      text: found.text ?? JSON.stringify(json),
      header: (name) => headers.get(name) ?? undefined,
      json: () => json,
    })
  }
  return { asked, safeFetch, documents }
}

const good = { client_id: url, client_name: 'Claude Code', redirect_uris: ['http://localhost/callback'] }

let grid: OAuthGrid
afterEach(() => grid?.close())

async function open(documents: Parameters<typeof web>[0], env: Record<string, string> = {}) {
  const net = web(documents)
  grid = await oauthGrid({ safeFetch: net.safeFetch, env: { OAUTH_CIMD: 'on', ...env } })
  return net
}

const page = (client_id = url) => openPage(grid, grid.ann, { client_id, redirect_uri: callback })

async function tokensOf() {
  const { handle } = await page()
  const allowed = await answer(grid, grid.ann, { handle, pick: `admin:${grid.acme.id}`, decision: 'allow' })
  return await exchange(grid, redirected(allowed).code, { client_id: url, redirect_uri: callback })
}

test('a client signs in with the address of its document, on any port of this computer', async () => {
  const { asked } = await open({ [url]: { json: good } })

  const { html, response } = await page()
  const { status, body } = await tokensOf()

  expect(response.status).toBe(200)
  expect(html).toContain('Claude Code')
  expect(html).toContain('client.example')
  expect(html).not.toContain('registered itself')
  expect(status).toBe(200)
  expect((await refresh(grid, body.refresh_token, { client_id: url })).status).toBe(200)
  expect(asked).toEqual([url])
})

test.each<[string, Document]>([
  ['S-O23: another client_id', { json: { ...good, client_id: `${url}?x` } }],
  ['no client_id', { json: { ...good, client_id: undefined } }],
  ['no name', { json: { ...good, client_name: undefined } }],
  ['no redirect URIs', { json: { ...good, redirect_uris: [] } }],
  ['a secret', { json: { ...good, client_secret: 'x' } }],
  ['only private_key_jwt', { json: { ...good, token_endpoint_auth_method: 'private_key_jwt' } }],
  ['a method with a secret', { json: { ...good, token_endpoint_auth_method: 'client_secret_post' } }],
  ['a status that is not 200', { status: 404, json: good }],
  ['a redirect', { status: 302, headers: new Headers({ location: 'https://evil.example/' }), json: good }],
  ['HTML', { headers: new Headers({ 'content-type': 'text/html' }), json: good }],
  ['broken JSON', { text: '{' }],
  ['a list', { json: [good] }],
  ['other redirect URIs', { json: { ...good, redirect_uris: ['https://client.example/cb'] } }],
])('a document with %s is a page at authorize', async (_, document) => {
  await open({ [url]: document })

  const { response } = await page()

  expect(response.status).toBe(400)
  expect(response.headers.get('location')).toBeNull()
})

test.each([
  { token_endpoint_auth_method: 'none' },
  { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] },
  {},
])('a document with %j is a public client', async (methods) => {
  await open({ [url]: { json: { ...good, ...methods } } })

  expect((await tokensOf()).status).toBe(200)
})

test('a redirect URI of another kind in a document is refused when it is used, not before', async () => {
  await open({ [url]: { json: { ...good, redirect_uris: ['javascript:alert(1)', 'http://localhost/callback'] } } })

  const evil = await openPage(grid, grid.ann, { client_id: url, redirect_uri: 'javascript:alert(1)' })

  expect(evil.response.status).toBe(400)
  expect((await page()).response.status).toBe(200)
})

test('mcp 9: an unreachable document is a page at authorize and 401 at the token endpoint, and is asked for again', async () => {
  const net = await open({})

  expect((await page()).response.status).toBe(400)
  expect(await exchange(grid, 'x', { client_id: url })).toMatchObject({
    status: 401,
    body: { error: 'invalid_client' },
  })
  net.documents[url] = { json: good }
  expect((await page()).response.status).toBe(200)
})

test('O11: strangers make the grid fetch nothing: authorize signs them in first, the token endpoint knows no such client', async () => {
  const { asked } = await open({ [url]: { json: good } })
  const nobody = { ...grid.ann, cookies: new Map<string, string>() }

  const { response } = await openPage(grid, nobody, { client_id: url, redirect_uri: callback })
  const token = await exchange(grid, 'x', { client_id: url })

  expect(response.headers.get('location')).toMatch(/^\/sign-in\?next=/)
  expect(token.status).toBe(401)
  expect(asked).toEqual([])
})

test.each([
  ['max-age=600', 10 * minute],
  ['public, max-age=999999', day],
  ['no-store', 0],
  [undefined, 5 * minute],
])('a copy with Cache-Control %s is used for %d ms, then validated again', async (cacheControl, freshMs) => {
  const headers = new Headers({ 'content-type': 'application/json' })
  if (cacheControl) headers.set('cache-control', cacheControl)
  const net = await open({ [url]: { headers, json: good } })
  await page()

  if (freshMs > 0) {
    await pass(grid, freshMs - 1)
    await page()
    expect(net.asked).toHaveLength(1)
    await pass(grid, 1)
  }
  net.documents[url] = { json: { ...good, redirect_uris: ['https://client.example/moved'] } }
  expect((await page()).response.status).toBe(400)
  expect(net.asked).toHaveLength(2)
})

test("a login goes on while its client's web server is down", async () => {
  const net = await open({ [url]: { json: good } })
  const { body } = await tokensOf()
  delete net.documents[url]
  await pass(grid, 2 * day)

  expect((await page()).response.status).toBe(400)
  expect((await refresh(grid, body.refresh_token, { client_id: url })).status).toBe(200)
})

test('one document is fetched once for all who ask at the same moment, and 8 at a time', async () => {
  const net = await open({ [url]: { json: good } })
  const others = Array.from({ length: 30 }, (_, n) => `https://client.example/${n}`)

  await Promise.all(Array.from({ length: 10 }, () => page()))
  await Promise.all(others.map((other) => page(other)))

  expect(net.asked.filter((asked) => asked === url)).toHaveLength(1)
  expect(net.asked.length).toBeLessThanOrEqual(31)
  expect(await rows(grid, "SELECT id FROM oauth_clients WHERE kind = 'document'")).toHaveLength(1)
})

test.each([
  ['OAUTH_CIMD=off', { OAUTH_CIMD: 'off' }],
  ['OAUTH_CIMD_HOSTS without the host', { OAUTH_CIMD_HOSTS: 'claude.ai,vscode.dev' }],
])('%s fetches nothing', async (_, env) => {
  const { asked } = await open({ [url]: { json: good } }, env)

  expect((await page()).response.status).toBe(400)
  expect(asked).toEqual([])
})

test.each([
  'http://client.example/metadata.json',
  'https://client.example/',
  'https://client.example',
  'https://client.example/a/../metadata.json',
  'https://client.example/%2e%2e/metadata.json',
  'https://client.example/metadata.json#x',
  'https://client.example/metadata.json#',
  'https://user@client.example/metadata.json',
  'https://CLIENT.example/metadata.json',
  'https://client.example:443/metadata.json',
  'https:\\\\client.example\\metadata.json',
  ` ${url}`,
  `${url} `,
  'file:///etc/passwd',
])('%j is no address of a document', (id) => {
  expect(isDocumentUrl(id)).toBe(false)
})

const advertised = 'client_id_metadata_document_supported'
const probed = 'https://claude.ai/oauth/claude-code-client-metadata'
const probedDocument = { json: { ...good, client_id: probed } }

async function metadata() {
  return await (await grid.request(`${issuer}/.well-known/oauth-authorization-server`)).json()
}

test('mcp 9: offline, auto does not advertise, and registration works', async () => {
  const { asked } = await open({}, { OAUTH_CIMD: 'auto' })

  await expect.poll(() => asked, { timeout: 10_000 }).toEqual([probed])
  expect(await metadata()).not.toHaveProperty(advertised)
  expect(grid.clientId).toBeDefined()
})

test('online, auto advertises once its look has succeeded', async () => {
  await open({ [probed]: probedDocument }, { OAUTH_CIMD: 'auto' })

  await expect.poll(metadata, { timeout: 10_000 }).toHaveProperty(advertised, true)
})

test.each([['on', true], ['off', undefined]])('%s makes no call and advertises %s', async (setting, value) => {
  const { asked } = await open({ [probed]: probedDocument }, { OAUTH_CIMD: setting })

  expect((await metadata())[advertised]).toBe(value)
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  expect(asked).toEqual([])
})

test('the look follows the network: advertised while the last one succeeded', async () => {
  const net = await open({}, { OAUTH_CIMD: 'auto' })
  const probe = documentProbe({ ...grid.deps, safeFetch: net.safeFetch })
  const seen = [probe.areRead()]
  for (const document of [probedDocument, undefined, probedDocument]) {
    if (document) net.documents[probed] = document
    else delete net.documents[probed]
    await probe.look()
    seen.push(probe.areRead())
  }

  expect(seen).toEqual([false, true, false, true])
  expect(hour).toBe(3_600_000)
})

test('a grid without internet says so once, and with no look a warning', async () => {
  const lines: string[] = []
  const log = createLog('info', (line) => lines.push(line))
  grid = await oauthGrid({ env: { OAUTH_CIMD: 'off' } })
  const { deps } = grid
  const safeFetch = createSafeFetch({
    config: deps.config,
    log,
    ownPorts: new Set(),
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
  })
  const probe = documentProbe({ ...deps, log, safeFetch })
  for (let times = 0; times < 3; times++) await probe.look()

  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'info', message: 'Documents of OAuth clients', areRead: false },
  ])
  await expect(safeFetch('https://client.example/x', { timeoutMs: 1_000 })).rejects.toThrow()
  expect(JSON.parse(lines[1])).toMatchObject({ level: 'warn', message: 'An outbound request failed' })
})
