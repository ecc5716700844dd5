import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.d.ts"
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../src/lib/free-port.ts'
import { eras, gridPath, toolResult, wireRequest } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { rpcOver } from '../support/stdio-rpc.ts'

/** The common interface of all clients in these tests. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>
  close(): Promise<void>
}

const info = { name: 'test', version: '1' }

let grid: LiveGrid
const children: ChildProcess[] = []
beforeAll(async () => {
  grid = await liveGrid()
})
afterAll(() => {
  for (const child of children) child.kill()
  return grid.close()
})

test.each(
  [
    ['client 2, legacy', 'legacy', '2025-11-25'],
    ['client 2, auto', 'auto', '2026-07-28'],
    ['client 2, pinned to 2026-07-28', { pin: '2026-07-28' }, '2026-07-28'],
  ] as const,
)('%s lists agents, sends, reads, and gets the error of a refused call', async (_, mode, revision) => {
  const connect = async (key: string) => {
    const client = new ClientV2(info, { versionNegotiation: { mode } })
    await client.connect(new TransportV2(new URL(gridPath, grid.url), { requestInit: bearing(key) }))
    expect(client.getNegotiatedProtocolVersion()).toBe(revision)
    return client as unknown as AnyClient
  }

  await converse(await connect(grid.alice.key), await connect(grid.bob.key))
})

test('client 1 of the SDK lists agents, sends, reads, and gets the error of a refused call', async () => {
  const connect = async (key: string) => {
    const client = new ClientV1(info)
    await client.connect(new TransportV1(new URL(gridPath, grid.url), { requestInit: bearing(key) }))
    return client as unknown as AnyClient
  }

  await converse(await connect(grid.alice.key), await connect(grid.bob.key))
})

test('both official clients read resources, and get an error for an unknown one', async () => {
  const v1 = new ClientV1(info)
  await v1.connect(new TransportV1(new URL('/api/v1/grid', grid.url), { requestInit: bearing(grid.alice.key) }))
  const v2 = new ClientV2(info, { versionNegotiation: { mode: 'auto' } })
  await v2.connect(new TransportV2(new URL('/api/v1/grid', grid.url), { requestInit: bearing(grid.alice.key) }))

  for (const client of [v1, v2]) {
    const { contents } = await client.readResource({ uri: 'grid://agents' })
    expect(JSON.stringify(contents)).toContain('@bob')
    await expect(client.readResource({ uri: 'grid://none' })).rejects.toMatchObject({ code: -32602 })
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([])
    await client.close()
  }
})

test('a client without a token gets an error that says it is unauthorized', async () => {
  const client = new ClientV2(info, { versionNegotiation: { mode: 'auto' } })

  await expect(client.connect(new TransportV2(new URL(gridPath, grid.url)))).rejects.toThrow(
    /401|[Uu]nauthorized|Sign in/,
  )
})

test('after a signup, a client with only the returned configuration can send and read', async () => {
  const newcomer = new ClientV2(info, { versionNegotiation: { mode: 'auto' } })
  await newcomer.connect(new TransportV2(new URL('/mcp/v1/signup', grid.url)))
  const signUp = (alias: string) =>
    newcomer.callTool({ name: 'signup', arguments: { owner_email: 'zoe@example.com', alias } })
  const clients = []
  for (const alias of ['zoe-one', 'zoe-two']) {
    const { mcp_config } = toolResult(await signUp(alias), 'signup').text
    const { url, headers } = mcp_config.mcpServers['agent-grid']
    const client = new ClientV1(info)
    await client.connect(new TransportV1(new URL(url), { requestInit: { headers } }))
    clients.push(client as unknown as AnyClient)
  }
  await newcomer.close()

  await converse(clients[0], clients[1], '@zoe-two')
})

test('a client behind mcp-remote lists agents, sends, reads, and gets the error of a refused call', async () => {
  const callbackPorts = [await freePort(), await freePort()]
  const alice = await overMcpRemote(grid.alice.key, callbackPorts[0])
  const bob = await overMcpRemote(grid.bob.key, callbackPorts[1])

  await converse(alice, bob)
}, 300_000)

test.each(eras)('in the %s era, 200 clients that all use the request id 0 get their own messages', async (era) => {
  const agents = await Promise.all(Array.from({ length: 200 }, (_, n) => grid.acme.agent(`${era}-${n}`)))
  const call = async (key: string, name: string, args: Record<string, unknown>) => {
    const { headers, body } = wireRequest(era, 'tools/call', { name, arguments: args }, 0)
    const init = { method: 'POST', headers: { ...headers, ...bearing(key).headers }, body: JSON.stringify(body) }
    const response = await fetch(new URL(gridPath, grid.url), init)
    const answer = await response.json()
    expect([response.status, answer.id]).toEqual([200, 0])
    return toolResult(answer.result, name).text
  }

  const received = await Promise.all(agents.map(async ({ alias }, n) => {
    await call(agents[(n + 1) % 200].key, 'send_message', { to: alias, message: `for ${alias}` })
    const [message] = await call(agents[n].key, 'read_messages', {})
    return message.message
  }))

  expect(received).toEqual(agents.map(({ alias }) => `for ${alias}`))
})

/** Tests the basic operations with two clients. `alias` is the alias of the second client's agent. */
async function converse(alice: AnyClient, bob: AnyClient, alias = '@bob'): Promise<void> {
  const { tools } = await alice.listTools()
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['send_message', 'read_messages']))

  const message = `hello ${Math.random()}`
  const sent = toolResult(
    await alice.callTool({ name: 'send_message', arguments: { to: alias, message } }),
    'send_message',
  )
  const read = toolResult(await bob.callTool({ name: 'read_messages', arguments: {} }), 'read_messages')
  expect(sent.text).toMatchObject({ recipient: alias })
  expect(read.text).toMatchObject([{ message_id: sent.text.message_id, message }])
  expect(read.more).toMatchObject({ cursor: expect.any(String) })

  const refused = toolResult(
    await alice.callTool({ name: 'send_message', arguments: { to: '@nobody', message } }),
    'send_message',
  )
  expect(refused.code).toBe('recipient_not_found')
  await expect(alice.callTool({ name: 'admin_list_agents', arguments: {} })).rejects.toMatchObject({ code: -32602 })
  await Promise.all([alice.close(), bob.close()])
}

function bearing(key: string) {
  return { headers: { Authorization: `Bearer ${key}` } }
}

/** Starts a client that speaks JSON-RPC over standard input and output with mcp-remote, which speaks with the grid. */
async function overMcpRemote(key: string, callbackPort: number): Promise<AnyClient> {
  const home = join(grid.folder, `home-${callbackPort}`)
  mkdirSync(home)
  const child = spawn('node_modules/.bin/mcp-remote', [
    new URL(gridPath, grid.url).href,
    `${callbackPort}`,
    '--transport',
    'http-only',
    '--allow-http',
    '--header',
    `Authorization: Bearer ${key}`,
  ], { env: { PATH: process.env.PATH, HOME: home }, stdio: ['pipe', 'pipe', 'ignore'] })
  children.push(child)
  const request = rpcOver(child)

  const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info }
  await request('initialize', client)
  child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`)
  return {
    listTools: () => request('tools/list', {}) as ReturnType<AnyClient['listTools']>,
    callTool: (call) => request('tools/call', call),
    close: () =>
      new Promise((closed) => {
        child.once('exit', () => closed())
        child.kill()
      }),
  }
}
