/** Real-world cards. See docs/protocol/a2a.md, "Remote agents". */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, FlattenedSign, generateKeyPair } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { findCard } from '../../../src/grid/remote-agents/manage.ts'
import { canonicalJson } from '../../../src/lib/encoding.ts'
import { testGrid } from '../../support/grid.ts'

/** Starts a server that answers GET of these paths, and records its requests. */
async function serving(files: (origin: string, port: number) => Record<string, object | number>) {
  const asked: { path: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer((request, response) => {
    asked.push({ path: request.url!, headers: request.headers })
    const file = files(origin, port)[request.url!] ?? 404
    if (typeof file === 'number') response.writeHead(file, { 'www-authenticate': 'ApiKey realm="a"' }).end('{}')
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  // deno-lint-ignore no-explicit-any -- tests check it
  const find = async (path: string): Promise<any> =>
    await findCard(grid.acme.store, { url: origin + path, token: 'secret' })
  return { origin, asked, find }
}

const card10 = (url: string, version = '1.0', more = {}) => ({
  ...{ name: 'Wild', description: '', version: '1', defaultInputModes: [], defaultOutputModes: [], skills: [] },
  capabilities: {},
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: version }],
  ...more,
})
const card03 = (url: string, protocolVersion: string) => ({
  ...{ name: 'Old', description: '', version: '1', url, protocolVersion, capabilities: {}, skills: [] },
  ...{ defaultInputModes: [], defaultOutputModes: [], preferredTransport: 'JSONRPC' },
})
const wellKnown = '/.well-known/agent-card.json'

test.each([
  ['localhost', (port: number) => `http://localhost:${port}/rpc`],
  ['every address', (port: number) => `http://0.0.0.0:${port}/rpc`],
  ['every address of IPv6', (port: number) => `http://[::]:${port}/rpc`],
  ['a path', () => '/rpc'],
  ['a relative path', () => 'rpc'],
])('a card on a loopback host that names %s belongs to the given host', async (_, url) => {
  const { find, origin } = await serving((_, port) => ({ [wellKnown]: card10(url(port)) }))

  expect((await find('')).card.endpoint.url).toBe(`${origin}/rpc`)
})

test('a different port of a loopback name is a different server, and #endpoint uses the given URL', async () => {
  const { find, origin } = await serving(() => ({ [`/agent${wellKnown}`]: card10('http://localhost:9/rpc') }))

  expect((await find('/agent')).problem).toMatch(/another server only: http:\/\/localhost:9\. .*#endpoint/)
  expect((await find('/agent#endpoint')).card.endpoint.url).toBe(`${origin}/agent`)
})

test.each([
  ['0.2.5', '0.3'],
  ['0.2.6', '0.3'],
  ['0.3.0', '0.3'],
])('a card of version %s at the older path counts as version %s', async (given, version) => {
  const { find, origin } = await serving(() => ({ '/.well-known/agent.json': card03(`${origin}/`, given) }))

  expect((await find('')).card.endpoint).toMatchObject({ url: `${origin}/`, version })
})

test.each([['v1.0', true], ['1.1', true], ['10.0', false], ['0.1.0', false], ['2.0', false]])(
  'card versions are compared as numbers (%s is supported: %s)',
  async (version, isServed) => {
    const { find } = await serving((origin) => ({ [wellKnown]: card10(`${origin}/`, version) }))

    expect('card' in await find('')).toBe(isServed)
  },
)

test('a card is requested with the query of the given URL', async () => {
  const query = '?assistant_id=a'
  const { find, origin } = await serving((origin) => ({ [wellKnown + query]: card10(`${origin}/a2a/a`) }))

  expect((await find(`/${query}`)).card.endpoint.url).toBe(`${origin}/a2a/a`)
})

test("a card at the host's root is fetched without the token, and accepted only for endpoints below the path", async () => {
  const { find, origin, asked } = await serving((origin) => ({ [wellKnown]: card10(`${origin}/agents/one/rpc`) }))

  expect((await find('/agents/one')).card.endpoint.url).toBe(`${origin}/agents/one/rpc`)
  expect(asked.at(-1)).toMatchObject({ path: wellKnown })
  expect(asked.filter(({ headers }) => headers.authorization).map(({ path }) => path)).not.toContain(wellKnown)
  const { problem } = await find('/agents/two')
  expect(problem).toContain(`${origin}/agents/one/rpc, which is not below ${origin}/agents/two`)
  expect((await find('/agents/on')).problem).toContain('is not below')
})

test.each([
  ['an encoded slash', 'JSONRPC', '/agents/one/..%2ftwo', undefined],
  ['an encoded backslash', 'JSONRPC', '/agents/one/..%5Ctwo', undefined],
  ['a tenant of dots', 'HTTP+JSON', '/agents/one', '..'],
  ['a tenant with a slash', 'HTTP+JSON', '/agents/one', '../two'],
])("%s in a card at the host's root cannot lead out of the given path", async (_, protocolBinding, path, tenant) => {
  const { find } = await serving((origin) => {
    const one = { url: origin + path, protocolBinding, protocolVersion: '1.0', ...tenant && { tenant } }
    return { [wellKnown]: card10('', '', { supportedInterfaces: [one] }) }
  })

  expect((await find('/agents/one')).problem).toContain('is not below')
})

test('the problem of a missing card lists every tried URL and its result', async () => {
  const { find, origin } = await serving(() => ({ [`/a${wellKnown}`]: 401 }))

  expect((await find('/a')).problem).toBe(
    `No card was found there (invalid_response). Tried ${origin}/a${wellKnown} (401, wants ApiKey); ` +
      [`/a/.well-known/agent.json`, '/a', wellKnown, '/.well-known/agent.json']
        .map((path) => `${origin}${path} (404, wants ApiKey)`).join('; ') +
      '.',
  )
})

test('an invalid card signature is reported, and a valid one is accepted', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = { ...await exportJWK(publicKey), kid: 'k' }
  let isChanged = false
  let signed: object = {}
  const { find, origin } = await serving(() => ({
    [wellKnown]: isChanged ? { ...signed, description: 'changed' } : signed,
    '/jwks.json': { keys: [jwk] },
  }))
  const card = card10(`${origin}/rpc`)
  const jws = await new FlattenedSign(new TextEncoder().encode(canonicalJson(card)))
    .setProtectedHeader({ alg: 'ES256', kid: 'k', jku: `${origin}/jwks.json` }).sign(privateKey)
  signed = { ...card, signatures: [{ protected: jws.protected, signature: jws.signature }] }

  expect((await find('')).card).not.toHaveProperty('isForged')
  isChanged = true
  expect((await find('')).card).toMatchObject({ isForged: true })
})
