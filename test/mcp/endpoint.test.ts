import { beforeEach, expect, test } from 'vitest'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { gridPath, mcp, sendWire, signupPath, type WireRequest, wireRequest } from '../support/mcp.ts'
import { mintKey } from '../../src/lib/secrets.ts'

const publicGrid = { env: { BASE_URL: 'https://api.grid.example', APP_URL: 'https://grid.example' } }
const origins = ['https://api.grid.example', 'https://grid.example']
const paths = ['/mcp/v1/grid', '/api/v1/grid']
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD']
const fromPage = { Origin: 'https://app.example' }

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid(publicGrid)
})

test.each(origins.flatMap((origin) => paths.flatMap((path) => methods.map((method) => [method, `${origin}${path}`]))))(
  "%s %s without a token gets 401 with the URL of its resource's metadata",
  async (method, url) => {
    const response = await grid.request(url, { method, headers: fromPage })
    const { origin, pathname } = new URL(url)

    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource${pathname}"`,
    )
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
    expect(response.headers.get('cache-control')).toBe('no-store')
  },
)

test.each(origins.flatMap((origin) => paths.map((path) => [`${origin}${path}`])))(
  'the metadata URL in the challenge of %s describes exactly this resource',
  async (url) => {
    const challenge = (await grid.request(url)).headers.get('www-authenticate')!
    const response = await grid.request(challenge.match(/resource_metadata="([^"]+)"/)![1], { headers: fromPage })

    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual({
      resource: url,
      authorization_servers: [new URL(url).origin],
      bearer_methods_supported: ['header'],
      resource_name: 'agent-grid',
    })
  },
)

test('the metadata URL without a path describes /mcp/v1/grid, and other paths have no metadata', async () => {
  const root = await grid.request('/.well-known/oauth-protected-resource')
  const other = await grid.request('/.well-known/oauth-protected-resource/mcp/v1/signup')
  const deeper = await grid.request('/.well-known/oauth-protected-resource/mcp/v1/grid/x')

  expect(await root.json()).toMatchObject({ resource: 'https://api.grid.example/mcp/v1/grid' })
  expect([other.status, deeper.status]).toEqual([404, 404])
})

test('on a loopback address, each spelling of the host is a separate resource', async () => {
  const local = await testGrid({ env: { PORT: '8787' } })
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    const url = `http://${host}:8787/mcp/v1/grid`
    const challenge = (await local.request(url)).headers.get('www-authenticate')!
    const document = await local.request(challenge.match(/resource_metadata="([^"]+)"/)![1])
    expect(await document.json()).toMatchObject({ resource: url })
  }
})

test('behind a TLS proxy the metadata keeps the configured scheme', async () => {
  const response = await grid.request('http://grid.example/mcp/v1/grid')

  expect(response.headers.get('www-authenticate')).toContain('"https://grid.example/.well-known/')
})

test.each([
  ['unknown', `Bearer ${mintKey('agent_key').key}`, 'error="invalid_token", error_description="This key is [^"]+", '],
  ['cut', 'Bearer grid_agt_unknown', 'error="invalid_token", error_description="[^"]+ It is truncated[^"]+", '],
  [
    'a variable',
    'Bearer ${AGENT_GRID_KEY}',
    'error="invalid_token", error_description="[^"]+ the name of a variable[^"]+", ',
  ],
  ['in quotes', 'Bearer "grid_agt_x"', 'error="invalid_token", error_description="[^"]+ It is in quotes.", '],
  ['foreign', 'Bearer sk-abc', 'error="invalid_token", error_description="[^"]+ A key begins with grid_agt_[^"]+", '],
  ['empty', 'Bearer ', ''],
  ['of another scheme', 'Basic YTpi', ''],
])('a credential that is %s gets 401 with a JSON-RPC error', async (_, authorization, error) => {
  const response = await grid.request(gridPath, { method: 'POST', headers: { Authorization: authorization } })

  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toMatch(new RegExp(`^Bearer ${error}resource_metadata=`))
  expect(await response.json()).toEqual({
    jsonrpc: '2.0',
    id: null,
    error: { code: -32600, message: expect.stringMatching(/Sign in|key/) },
  })
})

test('the credential is checked before the method and the body', async () => {
  const response = await grid.post(gridPath, '{"not json', { Authorization: 'Bearer grid_agt_x' })

  expect(response.status).toBe(401)
})

test('an unknown Host is refused with 421 before anything else is checked', async () => {
  const response = await grid.request('https://other.example/mcp/v1/grid', { method: 'POST' })

  expect(response.status).toBe(421)
  expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
})

test.each([...paths, signupPath, '/.well-known/oauth-protected-resource/mcp/v1/grid'])(
  'a preflight of %s needs no credential',
  async (path) => {
    const response = await grid.request(path, { method: 'OPTIONS', headers: fromPage })
    const allowed = response.headers.get('access-control-allow-headers')!.toLowerCase().split(',')

    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST,OPTIONS')
    expect(response.headers.has('access-control-allow-credentials')).toBe(false)
    expect(allowed).toEqual(expect.arrayContaining(['authorization', 'content-type', 'mcp-protocol-version']))
    expect(allowed).toEqual(expect.arrayContaining(['accept', 'mcp-method', 'mcp-name', 'mcp-session-id']))
  },
)

test('a web page of another origin can read every kind of response', async () => {
  const read = (wait_seconds: number) => ({ name: 'read_messages', arguments: { wait_seconds } })
  const post = (request: WireRequest, key: string | undefined = grid.alice.key) =>
    grid.request(gridPath, {
      method: 'POST',
      headers: { ...request.headers, ...fromPage, ...(key !== '' && { Authorization: `Bearer ${key}` }) },
      body: typeof request.body === 'string' ? request.body : JSON.stringify(request.body),
    })
  const get = (headers: Record<string, string>) =>
    grid.request(gridPath, { headers: { ...fromPage, Authorization: `Bearer ${grid.alice.key}`, ...headers } })
  const answers = [
    await post(wireRequest('legacy', 'tools/list')),
    await post(wireRequest('legacy', 'ping')),
    await post(wireRequest('legacy', 'tools/call', read(50))),
    await get({ Accept: 'text/event-stream' }),
    await post(wireRequest('legacy', 'tools/list'), ''),
    await post(wireRequest('modern', 'no/such', {})),
    await get({ Accept: 'application/json' }),
    await post({ headers: {}, body: 'no json' }),
    await post({ headers: {}, body: '{}' }),
  ]

  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 200, 401, 404, 405, 400, 415])
  for (const { headers, body } of answers) {
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
    await body?.cancel()
  }
})

test.each(paths.flatMap((path) => ['HEAD', 'PUT', 'PATCH', 'DELETE'].map((method) => [method, path])))(
  '%s %s with a token gets 405',
  async (method, path) => {
    const headers = { Authorization: `Bearer ${grid.alice.key}`, Accept: 'text/event-stream' }
    const response = await grid.request(path, { method, headers })

    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
    if (method !== 'HEAD') {
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32600 } })
    }
  },
)

test.each([
  ['nothing', '', -32700],
  ['no JSON', '{"jsonrpc":', -32700],
  ['a prototype', '{"__proto__":{}}', -32700],
  ['a number', '5', -32600],
  ['null', 'null', -32600],
  ['an empty array', '[]', -32600],
  ['an array of one', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
  ['33 levels', '['.repeat(33) + ']'.repeat(33), -32600],
  ['no JSON-RPC', '{"id":1}', -32600],
  ['an id of null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
])('a body of %s gets 400', async (_, body, code) => {
  const answer = await sendWire(grid, grid.alice.key, { ...wireRequest('legacy', 'ping'), body })

  expect(answer.status).toBe(400)
  expect(answer.body).toMatchObject({ jsonrpc: '2.0', id: null, error: { code } })
})

test('a body above 512 KiB gets 413, and so does a signup above 16 KiB', async () => {
  const padded = (bytes: number) => ({ ...wireRequest('legacy', 'ping'), body: ' '.repeat(bytes) + '{}' })

  const large = await sendWire(grid, grid.alice.key, padded(512 * 1024))
  const forSignup = await sendWire(grid, undefined, padded(16 * 1024), signupPath)

  expect([large.status, forSignup.status]).toEqual([413, 413])
  expect(large.body).toMatchObject({ id: null, error: { code: -32600 } })
})

test('the path /api/v1/grid is the same endpoint', async () => {
  const listed = await sendWire(grid, grid.alice.key, wireRequest('legacy', 'tools/list'), '/api/v1/grid')

  expect(listed.body).toEqual((await mcp(grid, grid.alice.key, 'tools/list')).body)
})
