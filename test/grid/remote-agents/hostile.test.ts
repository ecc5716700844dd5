import { expect, test } from 'vitest'
import { RemoteLines } from '../../../src/worker/remote-lines.ts'
import { testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type Answer, messageResult, remoteAgent, taskResult } from '../../support/remote-agent.ts'
import { waitFor } from '../../support/wait-for.ts'

/** A grid with a remote agent `@robot`, to which one message was sent and tried once. */
async function tried(answer: () => Answer, card: object | ((url: string) => object) = {}) {
  const grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  const remote = await remoteAgent(answer, card)
  const lines = new RemoteLines(grid.store)
  const create = (alias: string, remoteUrl: string) =>
    callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias, type: 'a2a', remoteUrl, remoteToken: 'secret' })
  await create('robot', remote.url)
  const { message_id } = (await callTool(grid, grid.alice.key, 'send_message', { to: '@robot', message: 'hi' })).text
  return {
    ...{ grid, remote, lines, create },
    id: message_id as string,
    read: async () => (await callTool(grid, grid.alice.key, 'read_messages')).text,
    line: async () =>
      (await grid.acme.store.read.remoteAgents.byId((await grid.acme.store.read.agents.byAlias('robot'))!.id))!,
    async close() {
      await lines.stop()
      await remote.close()
      await grid.close()
    },
  }
}

const json = { 'content-type': 'application/json' }
const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`

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
])('%s is an attempt that failed, and nothing is told yet', async (name, answer) => {
  const { lines, read, line, close } = await tried(() => name === 'a redirect' ? { status: 302 } : answer)

  await lines.run()
  await lines.settled()

  expect(await read()).toEqual([])
  expect(await line()).toMatchObject({ attempts: 1, error: expect.stringMatching(/./) })
  await close()
})

test('a server that hangs keeps no other server waiting', async () => {
  const { grid, lines, create, remote, close } = await tried(() => 'hang')
  const healthy = await remoteAgent(() => messageResult('ok'))
  await create('healthy', healthy.url)
  for (let n = 0; n < 20; n++) await create(`robot-${n}`, remote.url)
  for (let n = 0; n < 20; n++) {
    await callTool(grid, grid.alice.key, 'send_message', { to: `@robot-${n}`, message: 'hi' })
  }
  await lines.run()
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
])('%s', async (_, card, version) => {
  const { lines, read, remote, id, close } = await tried(() => messageResult('yes'), card)

  await lines.run()
  await lines.settled()

  expect(remote.calls[0].headers['a2a-version']).toBe(version)
  expect(remote.calls[0].params.message!.messageId).toBe(id)
  expect(await read()).toMatchObject([{ message: 'yes' }])
  await close()
})

test('A2A 0.3 over JSON-RPC', async () => {
  const message = {
    kind: 'message',
    messageId: 'm',
    role: 'agent',
    contextId: 'c',
    parts: [{ kind: 'text', text: 'yes' }],
  }
  const { lines, read, remote, id, close } = await tried(() => ({ result: message }), (url) => ({
    ...base,
    protocolVersion: '0.3.0',
    url: `${url}/rpc`,
    preferredTransport: 'JSONRPC',
  }))

  await lines.run()
  await lines.settled()

  expect(remote.calls[0].method).toBe('message/send')
  expect(remote.calls[0].params.message).toMatchObject({ messageId: id, parts: [{ kind: 'text', text: 'hi' }] })
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
