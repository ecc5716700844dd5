import { Buffer } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type Answer, messageResult, remoteAgent, taskResult } from '../../support/remote-agent.ts'
import { waitFor } from '../../support/wait-for.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

/** Opens a grid with a remote agent `@robot`, and sends one message to the agent. */
async function tried(answer: () => Answer, card: object | ((url: string) => object) = {}) {
  const grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  const remote = await remoteAgent(answer, card)
  const outboxes = new TestOutboxes(grid.store)
  const create = (alias: string, remoteUrl: string) =>
    callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias, type: 'a2a', remoteUrl, remoteToken: 'secret' })
  await create('robot', remote.url)
  const { message_id } = (await callTool(grid, grid.alice.key, 'send_message', { to: '@robot', message: 'hi' })).text
  return {
    ...{ grid, remote, outboxes, create },
    id: message_id as string,
    read: async () => (await callTool(grid, grid.alice.key, 'read_messages')).text,
    line: async () =>
      (await grid.acme.store.read.remoteAgents.byId((await grid.acme.store.read.agents.byAlias('robot'))!.id))!,
    async close() {
      await outboxes.stop()
      await remote.close()
      await grid.close()
    },
  }
}

const json = { 'content-type': 'application/json' }
const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`

/** Writes as long as the client reads, at most 100 MB. */
function flood(response: ServerResponse): void {
  const piece = 'x'.repeat(100_000)
  let left = 1_000
  const more = () => {
    while (left-- > 0) if (!response.write(piece)) return
    response.end()
  }
  response.on('drain', more)
  more()
}

test.each<[string, Answer]>([
  ['no JSON', { raw: '<html>', headers: json }],
  ['no result', { raw: '{}', headers: json }],
  ['a result of another shape', { result: { surprise: true } }],
  ['deep JSON', { raw: `{"jsonrpc":"2.0","id":1,"result":${deep}}`, headers: json }],
  ['many values', { raw: `{"jsonrpc":"2.0","id":1,"result":[${'{},'.repeat(30_000)}1]}`, headers: json }],
  ['an endless id', taskResult('t'.repeat(300), 'WORKING')],
  ['13 MB', { raw: `"${'x'.repeat(13 * 2 ** 20)}"`, headers: json }],
  ['compressed bytes', { raw: 'x', headers: { ...json, 'content-encoding': 'gzip' } }],
  ['a redirect', { raw: '', headers: {} }],
  ['a reset', (response) => response.socket!.resetAndDestroy()],
  ['a reset within an answer', (response) => {
    response.writeHead(200, { ...json, 'content-length': '100' })
    response.write('{"jsonrpc"', () => response.socket!.resetAndDestroy())
  }],
  ['half an answer', (response) => response.writeHead(200, json).end('{"jsonrpc":"2.0","id":1,"resu')],
  ['a longer answer than it declares', (response) => {
    response.socket!.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}{}')
  }],
  ['100 MB of which nothing is declared', flood],
  ['an endless stream of events', (response) => {
    response.setHeader('content-type', 'text/event-stream')
    flood(response)
  }],
  ['100 MB of headers', (response) => {
    response.socket!.write(`HTTP/1.1 200 OK\r\n${`x: ${'x'.repeat(1_000)}\r\n`.repeat(1_000)}`)
  }],
  ['a bomb of gzip', (response) => {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(50 * 2 ** 20)))
  }],
  ['another protocol', (response) => {
    response.socket!.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
  }],
  ['no content', { status: 204 }],
])('%s is a failed attempt, and is not reported yet', async (name, answer) => {
  const { outboxes, read, line, close } = await tried(() => name === 'a redirect' ? { status: 302 } : answer)

  await outboxes.run()
  await outboxes.settled()

  expect(await read()).toEqual([])
  expect(await line()).toMatchObject({ attempts: 1, error: expect.stringMatching(/./) })
  await close()
})

test.each<[string, Answer]>([
  ['another task', taskResult('t2', 'COMPLETED', { isLook: true, said: 'not yours' })],
  ['a message', messageResult('not a task')],
  ['no task', { result: null }],
])('a poll answered with %s reports nothing and is repeated', async (_, answer) => {
  let [asked, looked] = [0, answer]
  const { grid, outboxes, read, id, close } = await tried(() => asked++ === 0 ? taskResult('t1', 'WORKING') : looked)
  const step = async (ms: number) => {
    grid.clock.now += ms
    await outboxes.run()
    await outboxes.settled()
  }
  await step(0)
  await step(1_000)
  expect(await read()).toEqual([])

  looked = taskResult('t1', 'COMPLETED', { isLook: true, said: 'yours' })
  await step(5_000)

  expect(await read()).toMatchObject([{ message: 'yours', reply_to_message_id: id }])
  await close()
})

test('a server that hangs does not delay other servers', async () => {
  const { grid, outboxes, create, remote, close } = await tried(() => 'hang')
  const healthy = await remoteAgent(() => messageResult('ok'))
  await create('healthy', healthy.url)
  for (let n = 0; n < 20; n++) await create(`robot-${n}`, remote.url)
  for (let n = 0; n < 20; n++) {
    await callTool(grid, grid.alice.key, 'send_message', { to: `@robot-${n}`, message: 'hi' })
  }
  await outboxes.run()
  await waitFor('eight requests that hang', () => remote.calls.length >= 8)
  await callTool(grid, grid.alice.key, 'send_message', { to: '@healthy', message: 'hi' })

  await waitFor('the healthy server', () => healthy.calls.length === 1)

  expect(remote.calls.length).toBe(8)
  await close()
  await healthy.close()
})

test.each<[string, (url: string) => object, string]>([
  ['A2A 1.0 over HTTP+JSON', (url) => card10(url, 'HTTP+JSON'), '1.0'],
  ['A2A 1.0 over JSON-RPC', (url) => card10(url, 'JSONRPC'), '1.0'],
])('a message is sent and answered over %s', async (_, card, version) => {
  const { outboxes, read, remote, id, close } = await tried(() => messageResult('yes'), card)

  await outboxes.run()
  await outboxes.settled()

  expect(remote.calls[0].headers['a2a-version']).toBe(version)
  expect(remote.calls[0].params.message!.messageId).toBe(id)
  expect(await read()).toMatchObject([{ message: 'yes' }])
  await close()
})

test('a message is sent and answered over A2A 0.3 with JSON-RPC', async () => {
  const message = {
    kind: 'message',
    messageId: 'm',
    role: 'agent',
    contextId: 'c',
    parts: [{ kind: 'text', text: 'yes' }],
  }
  const { outboxes, read, remote, id, close } = await tried(() => ({ result: message }), (url) => ({
    ...base,
    protocolVersion: '0.3.0',
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
  }))

  await outboxes.run()
  await outboxes.settled()

  expect(remote.calls[0].method).toBe('message/send')
  expect(remote.calls[0].params.message).toMatchObject({ messageId: id, parts: [{ kind: 'text', text: 'hi' }] })
  expect(await read()).toMatchObject([{ message: 'yes' }])
  await close()
})

test('a card with interfaces of both versions is called by its 1.0 interface', async () => {
  const { outboxes, read, remote, close } = await tried(() => messageResult('yes'), (url) => ({
    ...card10(url, 'JSONRPC'),
    protocolVersion: '0.3.0',
    preferredTransport: 'JSONRPC',
    url: `${url}/rpc`,
  }))

  await outboxes.run()
  await outboxes.settled()

  expect(remote.calls.map(({ method }) => method)).toEqual(['SendMessage'])
  expect(await read()).toMatchObject([{ message: 'yes' }])
  await close()
})

const base = {
  name: 'Remote',
  description: 'Answers',
  version: '1',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

function card10(url: string, protocolBinding: string): object {
  return { ...base, supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding, protocolVersion: '1.0' }] }
}
