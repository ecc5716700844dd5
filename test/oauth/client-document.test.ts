/** Clients with a metadata document. See docs/security.md, "OAuth", and docs/protocol/oauth.md, "Clients". */
import { type SafeFetch } from '../../src/lib/outbound/safe-fetch.ts'
import { day, minute } from '../../src/lib/time.ts'
import { documentProbe, isDocumentUrl } from '../../src/oauth/client-document.ts'
import { createClients } from '../../src/oauth/clients.ts'
import { rows } from '../support/database.ts'
import {
  advanceClock,
  exchange,
  issuer,
  type OAuthGrid,
  oauthGrid,
  openConsentPage,
  redirectParameters,
  refresh,
  submitConsent,
} from '../support/oauth.ts'
import { waitFor } from '../support/wait-for.ts'
import { expect, test } from 'vitest'

const url = 'https://client.example/oauth/metadata.json'
const callback = 'http://localhost:51234/callback'

interface Document {
  status?: number
  headers?: Headers
  /** The body, by default the serialized `json`. */
  text?: string
  json?: unknown
}

/** Creates a `safeFetch` that serves these documents by URL, and a list of the fetched URLs. */
function fakeWeb(documents: Record<string, Document>) {
  const fetched: string[] = []
  const safeFetch: SafeFetch = (address) => {
    fetched.push(address)
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
  return { fetched, safeFetch, documents }
}

const good = { client_id: url, client_name: 'Claude Code', redirect_uris: ['http://localhost/callback'] }

let grid: OAuthGrid

async function open(documents: Parameters<typeof fakeWeb>[0], env: Record<string, string> = {}) {
  const net = fakeWeb(documents)
  grid = await oauthGrid({ safeFetch: net.safeFetch, env: { OAUTH_CIMD: 'on', ...env } })
  return net
}

const page = (client_id = url) => openConsentPage(grid, grid.ann, { client_id, redirect_uri: callback })

async function tokensOf() {
  const { handle } = await page()
  const allowed = await submitConsent(grid, grid.ann, { handle, pick: `admin:${grid.acme.id}`, decision: 'allow' })
  return await exchange(grid, redirectParameters(allowed).code, { client_id: url, redirect_uri: callback })
}

test("a client identified by its document's URL signs in on any loopback port", async () => {
  const { fetched } = await open({ [url]: { json: good } })

  const { html, response } = await page()
  const { status, body } = await tokensOf()

  expect(response.status).toBe(200)
  expect(html).toContain('Claude Code')
  expect(html).toContain('client.example')
  expect(html).not.toContain('registered itself')
  expect(status).toBe(200)
  expect((await refresh(grid, body.refresh_token, { client_id: url })).status).toBe(200)
  expect(fetched).toEqual([url])
})

test.each<[string, Document]>([
  ['another client_id', { json: { ...good, client_id: `${url}?x` } }],
  ['a secret', { json: { ...good, client_secret: 'x' } }],
  ['only private_key_jwt', { json: { ...good, token_endpoint_auth_method: 'private_key_jwt' } }],
  ['a status that is not 200', { status: 404, json: good }],
  ['HTML', { headers: new Headers({ 'content-type': 'text/html' }), json: good }],
  ['other redirect URIs', { json: { ...good, redirect_uris: ['https://client.example/cb'] } }],
])('a client document with %s leads to an error page at authorize', async (_, document) => {
  await open({ [url]: document })

  const { response } = await page()

  expect(response.status).toBe(400)
  expect(response.headers.get('location')).toBeNull()
})

test.each([
  { token_endpoint_auth_method: 'none' },
  { token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] },
  {},
])('a client whose document has %j is a public client', async (methods) => {
  await open({ [url]: { json: { ...good, ...methods } } })

  expect((await tokensOf()).status).toBe(200)
})

test('an unreachable client document causes an error page at authorize and 401 at the token endpoint, and is retried', async () => {
  const net = await open({})

  expect((await page()).response.status).toBe(400)
  expect(await exchange(grid, 'x', { client_id: url })).toMatchObject({
    status: 401,
    body: { error: 'invalid_client' },
  })
  net.documents[url] = { json: good }
  expect((await page()).response.status).toBe(200)
})

test('without a sign-in, neither the authorization page nor the token endpoint fetches a client document', async () => {
  const { fetched } = await open({ [url]: { json: good } })
  const anonymous = { ...grid.ann, cookies: new Map<string, string>() }

  const { response } = await openConsentPage(grid, anonymous, { client_id: url, redirect_uri: callback })
  const token = await exchange(grid, 'x', { client_id: url })

  expect(response.headers.get('location')).toMatch(/^\/sign-in\?next=/)
  expect(token.status).toBe(401)
  expect(fetched).toEqual([])
})

test.each([
  ['max-age=600', 10 * minute],
  ['public, max-age=999999', day],
  ['no-store', 0],
  [undefined, 5 * minute],
])(
  'a client document with Cache-Control %s is reused for %d ms and then fetched again',
  async (cacheControl, freshMs) => {
    const headers = new Headers({ 'content-type': 'application/json' })
    if (cacheControl) headers.set('cache-control', cacheControl)
    const net = await open({ [url]: { headers, json: good } })
    await page()

    if (freshMs > 0) {
      await advanceClock(grid, freshMs - 1)
      await page()
      expect(net.fetched).toHaveLength(1)
      await advanceClock(grid, 1)
    }
    net.documents[url] = { json: { ...good, redirect_uris: ['https://client.example/moved'] } }
    expect((await page()).response.status).toBe(400)
    expect(net.fetched).toHaveLength(2)
  },
)

test('concurrent requests share one fetch of a client document, and at most 8 documents are fetched at a time', async () => {
  const net = await open({ [url]: { json: good } })
  const others = Array.from({ length: 30 }, (_, n) => `https://client.example/${n}`)

  await Promise.all(Array.from({ length: 10 }, () => page()))
  await Promise.all(others.map((other) => page(other)))

  expect(net.fetched.filter((fetched) => fetched === url)).toHaveLength(1)
  expect(net.fetched.length).toBeLessThanOrEqual(31)
  expect(await rows(grid, "SELECT id FROM oauth_clients WHERE kind = 'document'")).toHaveLength(1)
})

test('slow client documents of one user do not stop other users from signing in', async () => {
  const { safeFetch } = fakeWeb({ [url]: { json: good } })
  let fail = () => {}
  const slow = new Promise<never>((_, reject) => fail = () => reject(new Error('slow')))
  let asked = 0
  const web: SafeFetch = (address, request) => {
    if (address === url) return safeFetch(address, request)
    asked++
    return slow
  }
  grid = await oauthGrid({ safeFetch: web, env: { OAUTH_CIMD: 'on' } })
  const slowPages = Array.from({ length: 12 }, (_, n) => page(`https://slow.example/${n}`))
  await waitFor('the slow documents', () => asked > 0)

  const { response } = await openConsentPage(grid, grid.ed, { client_id: url, redirect_uri: callback })

  expect(response.status).toBe(200)
  fail()
  await Promise.all(slowPages)
})

test('at most eight client documents are fetched at a time and two per user, and a finished fetch frees a slot', async () => {
  const { fakeFetch, asked } = unanswered()
  grid = await oauthGrid({ safeFetch: fakeFetch, env: { OAUTH_CIMD: 'on' } })
  const clients = createClients(grid.store)
  const find = (name: string, user: string) => clients.find(`https://slow.example/${name}`, 'authorize', user)
  const found = ['a', 'b', 'c', 'd', 'e'].flatMap((user) => [1, 2, 3].map((n) => find(user + n, user)))
  await waitFor('eight requests', () => asked.length === 8)

  // The other fetches were refused immediately, without waiting.
  expect(await Promise.all([found[2], found[14]])).toEqual([undefined, undefined])
  for (const { fail } of asked) fail()
  await Promise.all(found)
  const later = find('later', 'a')
  await waitFor('another request', () => asked.length === 9)
  asked[8].fail()
  await later
})

/** Creates a `safeFetch` whose requests fail when the test says so. */
function unanswered() {
  const asked: { fail(): void }[] = []
  const fakeFetch: SafeFetch = () =>
    new Promise((_, reject) => asked.push({ fail: () => reject(new Error('unanswered')) }))
  return { fakeFetch, asked }
}

test.each([
  ['OAUTH_CIMD=off', { OAUTH_CIMD: 'off' }],
  ['OAUTH_CIMD_HOSTS without the host', { OAUTH_CIMD_HOSTS: 'claude.ai,vscode.dev' }],
])('with %s, no client document is fetched', async (_, env) => {
  const { fetched } = await open({ [url]: { json: good } }, env)

  expect((await page()).response.status).toBe(400)
  expect(fetched).toEqual([])
})

test.each([
  'http://client.example/metadata.json',
  'https://client.example/',
  'https://client.example/%2e%2e/metadata.json',
  'https://client.example/metadata.json#x',
  'https://user@client.example/metadata.json',
  'https://client.example:443/metadata.json',
  'https:\\\\client.example\\metadata.json',
])("%j is not a client document's URL", (id) => {
  expect(isDocumentUrl(id)).toBe(false)
})

const advertised = 'client_id_metadata_document_supported'
const probed = 'https://claude.ai/oauth/claude-code-client-metadata'
const probedDocument = { json: { ...good, client_id: probed } }

async function metadata() {
  return await (await grid.request(`${issuer}/.well-known/oauth-authorization-server`)).json()
}

test.each([['on', true], ['off', undefined]])(
  'with OAUTH_CIMD=%s, the metadata advertises client documents (%s) without a request',
  async (setting, value) => {
    const { fetched } = await open({ [probed]: probedDocument }, { OAUTH_CIMD: setting })

    expect((await metadata())[advertised]).toBe(value)
    expect(fetched).toEqual([])
  },
)

test('client documents are advertised if the last test fetch succeeded', async () => {
  const net = await open({}, { OAUTH_CIMD: 'auto' })
  const probe = documentProbe({ ...grid.deps, safeFetch: net.safeFetch })
  const seen = [probe.canFetch()]
  for (const document of [probedDocument, undefined, probedDocument]) {
    if (document) net.documents[probed] = document
    else delete net.documents[probed]
    await probe.check()
    seen.push(probe.canFetch())
  }

  expect(seen).toEqual([false, true, false, true])
})
