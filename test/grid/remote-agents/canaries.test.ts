/** No remote agent can lead the grid to a blocked address, at which a canary counts connections. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tryRemote } from '../../../src/grid/remote-agents/try-remote.ts'
import { createSafeStream } from '../../../src/lib/outbound/safe-stream.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { signedInByEmail } from '../../support/people.ts'
import { messageResult, taskResult } from '../../support/remote-agent.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

const canaryHost = '127.0.0.2'
let grid: TestGrid
let aliases = 0
/** The addresses that each name resolves to. */
let names: Record<string, () => string[]> = {}

beforeAll(async () => {
  grid = await testGrid({
    env: { ALLOW_PRIVATE_TARGETS: '1', BLOCKED_TARGETS: `${canaryHost},::1`, LOG_LEVEL: 'error' },
  })
  const { config, log } = grid.deps
  const resolve = (host: string) => Promise.resolve(names[host]?.() ?? [])
  Object.assign(grid.deps, { safeStream: createSafeStream({ config, log, ownPorts: new Set(), resolve }) })
})
afterAll(() => grid.close())

type Serve = (request: { url: string; method: string; rpc?: string; id?: unknown }, response: ServerResponse) => void

/** Starts a server at 127.0.0.1, and the canary at the same port of another address. */
async function servers(serve: Serve) {
  let caught = 0
  const http = createHttpServer((request: IncomingMessage, response: ServerResponse) => {
    let text = ''
    request.on('data', (chunk) => text += chunk).on('end', () => {
      const { method: rpc, id } = text.startsWith('{') ? JSON.parse(text) : {}
      serve({ url: request.url!, method: request.method!, rpc, id }, response)
    })
  })
  const canary = createServer((socket) => {
    caught++
    socket.destroy()
  })
  await listening(http, 0, '127.0.0.1')
  const { port } = http.address() as AddressInfo
  await listening(canary, port, canaryHost)
  return {
    port,
    caught: () => caught,
    async close() {
      http.closeAllConnections()
      await Promise.all([http, canary].map((server) => new Promise((resolve) => server.close(resolve))))
    },
  }
}

const listening = (server: Server, port: number, host: string) =>
  new Promise<void>((resolve) => server.listen(port, host, resolve))

const json = (response: ServerResponse, body: unknown) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
const redirect = (response: ServerResponse, status: number, location: string) =>
  response.writeHead(status, { location }).end()

/** Creates the agent, tries its address, reads its card again, sends a message, and polls the task. */
async function throughEveryDoor(remoteUrl: string): Promise<void> {
  const alias = `robot-${++aliases}`
  const outboxes = new TestOutboxes(grid.store)
  const create = (remoteUrl: string) =>
    callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias, type: 'a2a', remoteUrl, remoteToken: 'secret' })
  if ((await create(remoteUrl)).code !== undefined) {
    // Simulates an address that was blocked after the agent was created.
    await create('https://robot.example/')
    const sql = 'UPDATE agents SET remote_url = ? WHERE account_id = ? AND alias = ?'
    await grid.store.write([{ sql, args: [remoteUrl, grid.acme.id, alias] }])
  }
  await tryRemote(grid.acme.store, { url: remoteUrl, token: 'secret' }, 'hi').catch(() => {})
  const ann = await signedInByEmail(grid, 'ann@acme.example')
  const page = `/accounts/${grid.acme.id}/agents/${alias}`
  await ann.submit(page, {}, `${page}/read-card`)
  await callTool(grid, grid.alice.key, 'send_message', { to: `@${alias}`, message: 'hi' })
  for (let n = 0; n < 3; n++) {
    await outboxes.run()
    await outboxes.settled()
    grid.clock.now += 2_000
  }
  await outboxes.stop()
}

const base = {
  name: 'Hostile',
  description: 'Leads elsewhere',
  version: '1',
  capabilities: { pushNotifications: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}
const card10 = (url: string, protocolBinding = 'JSONRPC', more: object = {}) => ({
  ...base,
  supportedInterfaces: [{ url, protocolBinding, protocolVersion: '1.0', ...more }],
})
const card03 = (url: string, more: object = {}) => ({
  ...base,
  protocolVersion: '0.3.0',
  preferredTransport: 'JSONRPC',
  url,
  ...more,
})

test('the canary notices a connection', async () => {
  const { port, caught, close } = await servers(() => {})

  await once(connect(port, canaryHost), 'close')

  expect(caught()).toBe(1)
  await close()
})

test.each([
  ['a blocked address', canaryHost],
  ['a short address', '127.2'],
  ['a decimal address', '2130706434'],
  ['a hexadecimal address', '0x7f000002'],
  ['an octal address', '0177.0.0.2'],
  ['an address with full-width digits', '１２７.0.0.2'],
  ['an address in IPv6', '[::ffff:127.0.0.2]'],
  ['an address in hexadecimal IPv6', '[::ffff:7f00:2]'],
  ['a name of a blocked address', 'canary.example'],
  ['a name with a final dot', 'canary.example.'],
  ['a name of an allowed address and a blocked one', 'both.example'],
  ['a name of an address in IPv6', 'mapped.example'],
  ['a user before the address', `user@${canaryHost}`],
  ['an allowed host as the user', `127.0.0.1@${canaryHost}`],
])('%s', async (_, host) => {
  const { port, caught, close } = await servers((_, response) => json(response, {}))
  names = {
    'canary.example': () => [canaryHost],
    'canary.example.': () => [canaryHost],
    'both.example': () => ['127.0.0.1', canaryHost],
    'mapped.example': () => [`::ffff:${canaryHost}`],
  }

  await throughEveryDoor(`http://${host}:${port}/`)

  expect(caught()).toBe(0)
  await close()
})

test.each([301, 302, 303, 307, 308])('a %i redirect does not lead to the canary', async (status) => {
  for (const redirected of ['card', 'SendMessage', 'GetTask']) {
    const { port, caught, close } = await servers(({ method, rpc, id }, response) => {
      const canary = `http://${canaryHost}:${port}/`
      if ((method === 'GET' ? 'card' : rpc) === redirected) redirect(response, status, canary)
      else if (method === 'GET') json(response, card10(`http://127.0.0.1:${port}/rpc`))
      else json(response, { jsonrpc: '2.0', id, ...taskResult('t', 'WORKING', { isLook: rpc === 'GetTask' }) })
    })

    await throughEveryDoor(`http://127.0.0.1:${port}/`)

    expect([redirected, caught()]).toEqual([redirected, 0])
    await close()
  }
})

const places: [string, (port: number) => string][] = [
  ['an endpoint elsewhere', (port) => `http://${canaryHost}:${port}/rpc`],
  ['an endpoint without a scheme', (port) => `//${canaryHost}:${port}/rpc`],
  ['an endpoint with the own host as user', (port) => `http://127.0.0.1:${port}@${canaryHost}:${port}/rpc`],
  ['an endpoint behind a backslash', (port) => `http://${canaryHost}:${port}\\@127.0.0.1:${port}/rpc`],
  ['an endpoint that continues the own host', (port) => `http://127.0.0.1.canary.example:${port}/rpc`],
  ['an endpoint with a tab in its host', (port) => `http://127.0.0.\t2:${port}/rpc`],
]
const bindings: [string, (url: string) => object][] = [
  ['JSON-RPC 1.0', (url) => card10(url)],
  ['HTTP+JSON 1.0', (url) => card10(url, 'HTTP+JSON')],
  ['JSON-RPC 0.3', (url) => card03(url)],
]
test.each(places.flatMap(([what, url]) => bindings.map(([binding, card]) => [what, binding, url, card] as const)))(
  'a card with %s, over %s, does not lead to the canary',
  async (_, __, url, card) => {
    names = { '127.0.0.1.canary.example': () => [canaryHost] }
    const { port, caught, close } = await servers((_, response) => json(response, card(url(port))))

    await throughEveryDoor(`http://127.0.0.1:${port}/`)

    expect(caught()).toBe(0)
    await close()
  },
)

const elsewhere = (port: number) => `http://${canaryHost}:${port}/`
test.each<[string, (port: number) => object]>([
  ['its icon and documentation', (port) => ({ iconUrl: elsewhere(port), documentationUrl: elsewhere(port) })],
  ['its provider', (port) => ({ provider: { organization: 'x', url: elsewhere(port) } })],
  ['further interfaces', (port) => ({
    additionalInterfaces: [{ url: elsewhere(port), transport: 'JSONRPC' }, { url: elsewhere(port), transport: 'GRPC' }],
  })],
  ['a tenant', (port) => ({ tenant: `../../..//${canaryHost}:${port}/` })],
  ['keys of its signature', (port) => ({
    signatures: [{ protected: btoa(JSON.stringify({ alg: 'ES256', jku: elsewhere(port), kid: 'x' })), signature: 'x' }],
  })],
  ['where to sign in', (port) => ({
    securitySchemes: { x: { openIdConnectSecurityScheme: { openIdConnectUrl: elsewhere(port) } } },
  })],
  ['extensions', (port) => ({ capabilities: { extensions: [{ uri: elsewhere(port), required: true }] } })],
])('a card that names other servers in %s does not lead to the canary', async (_, more) => {
  const { port, caught, close } = await servers(({ method, rpc, id }, response) => {
    const { tenant, ...rest } = more(port) as { tenant?: string }
    const card = card10(`http://127.0.0.1:${port}/rpc`, tenant ? 'HTTP+JSON' : 'JSONRPC', { ...(tenant && { tenant }) })
    if (method === 'GET') json(response, { ...card, ...rest })
    else json(response, { jsonrpc: '2.0', id, ...taskResult('t', 'WORKING', { isLook: rpc === 'GetTask' }) })
  })

  await throughEveryDoor(`http://127.0.0.1:${port}/`)

  expect(caught()).toBe(0)
  await close()
})

test.each([1, 2, 3, 4, 5, 6])('a name that moves to the canary at request %i does not lead to it', async (from) => {
  let asked = 0
  names = { 'rebound.example': () => [++asked < from ? '127.0.0.1' : canaryHost] }
  const { port, caught, close } = await servers(({ method, rpc, id }, response) => {
    if (method === 'GET') json(response, card10(`http://rebound.example:${port}/rpc`))
    else json(response, { jsonrpc: '2.0', id, ...taskResult('t', 'WORKING', { isLook: rpc === 'GetTask' }) })
  })

  await throughEveryDoor(`http://rebound.example:${port}/`)

  expect(asked).toBeGreaterThanOrEqual(from)
  expect(caught()).toBe(0)
  await close()
})

test.each<[string, (port: number) => object]>([
  ['a file', (port) => ({ url: elsewhere(port), mediaType: 'text/plain' })],
  ['a text', (port) => ({ text: elsewhere(port) })],
  ['data', (port) => ({ data: { url: elsewhere(port) } })],
])('a response that names the canary in %s does not lead to it', async (_, part) => {
  const { port, caught, close } = await servers(({ method, id }, response) => {
    if (method === 'GET') return json(response, card10(`http://127.0.0.1:${port}/rpc`))
    const { result: { message } } = messageResult('see')
    return json(response, { jsonrpc: '2.0', id, result: { message: { ...message, parts: [part(port)] } } })
  })

  await throughEveryDoor(`http://127.0.0.1:${port}/`)

  const messages = (await callTool(grid, grid.alice.key, 'read_messages')).text
  expect(messages.at(-1)).toMatchObject({ user: `@robot-${aliases}` })
  expect(caught()).toBe(0)
  await close()
})
