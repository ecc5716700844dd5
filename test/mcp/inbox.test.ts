/** `grid://inbox` with both official clients over a socket. See docs/protocol/mcp.md, "Waiting and event streams". */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.d.ts"
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
// @ts-types="../../node_modules/@modelcontextprotocol/sdk/dist/esm/types.d.ts"
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import type { TestAgent } from '../support/grid.ts'
import { readEvents } from '../support/events.ts'
import { callTool, gridPath, toolResult, wireRequest } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

const info = { name: 'test', version: '1' }

let grid: LiveGrid
let stop: AbortController
beforeEach(async () => {
  stop = new AbortController()
  grid = await liveGrid({ stopping: stop.signal })
})

test('client 1 of the SDK is notified of messages to its own agent only', async () => {
  const carol = await grid.acme.agent('carol')
  const heard = { bob: [] as string[], carol: [] as string[] }
  const clients = []
  for (const [name, { key }] of [['bob', grid.bob], ['carol', carol]] as const) {
    const client = new ClientV1(info)
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
      heard[name].push(params.uri)
    })
    await client.connect(new TransportV1(new URL(gridPath, grid.url), { requestInit: bearing(key) }))
    await client.subscribeResource({ uri: 'grid://inbox' })
    clients.push(client)
  }
  await waitFor('both streams', () => grid.store.waiting.streams.count === 2)
  await send()
  await waitFor('what bob hears', () => heard.bob.length > 0)

  expect(heard).toEqual({ bob: ['grid://inbox'], carol: [] })
  for (const client of clients) await client.close()
})

test('in the modern era, client 2 of the SDK is notified of messages to its own agent only', async () => {
  const carol = await grid.acme.agent('carol')
  const heard = { bob: [] as string[], carol: [] as string[] }
  const clients = []
  for (const [name, { key }] of [['bob', grid.bob], ['carol', carol]] as const) {
    const client = await modernClient(key)
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      heard[name].push(params.uri)
    })
    const { honoredFilter } = await client.listen({ resourceSubscriptions: ['grid://inbox', 'grid://agents'] })
    expect(honoredFilter.resourceSubscriptions).toEqual(['grid://inbox'])
    clients.push(client)
  }
  await send()
  await waitFor('what bob hears', () => heard.bob.length > 0)

  expect(heard).toEqual({ bob: ['grid://inbox'], carol: [] })
  for (const client of clients) await client.close()
  await waitFor('the end of all streams', () => grid.store.waiting.streams.count === 0)
})

test('client 1 of the SDK can wait for messages longer than plain responses allow', async () => {
  const client = new ClientV1(info)
  await client.connect(new TransportV1(new URL(gridPath, grid.url), { requestInit: bearing(grid.bob.key) }))
  const reading = client.callTool({ name: 'read_messages', arguments: { wait_seconds: 50 } })
  await waitFor('the wait', () => grid.store.waiting.reads.count === 1)
  await send()

  expect(toolResult(await reading, 'read_messages').text).toMatchObject([{ message: 'hello' }])
  await client.close()
})

test('a listen request for resources that never change is acknowledged without these resources, and then ended', async () => {
  const text = await (await listen(grid.bob, ['grid://agents'])).text()

  expect(text).toContain('"notifications":{}')
  expect(text).toContain('"resultType":"complete"')
  expect(grid.store.waiting.streams.count).toBe(0)
})

test.each(['its key is revoked', 'the process stops'])(
  'a listen request gets its final response when %s',
  async (end) => {
    const carol = await grid.acme.agent('carol')
    const events = readEvents(await listen(carol))
    await events.event()
    if (end === 'the process stops') stop.abort()
    else await deleteAgent(grid.acme.store, 'carol')
    grid.clock.now += 20_000
    grid.store.waiting.notifier.notifyAll()

    expect(await events.event()).toContain('"resultType":"complete"')
    expect(await events.frame()).toBeUndefined()
  },
)

async function modernClient(key: string) {
  const client = new ClientV2(info, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new TransportV2(new URL(gridPath, grid.url), { requestInit: bearing(key) }))
  return client
}

function listen({ key }: Pick<TestAgent, 'key'>, uris = ['grid://inbox']): Promise<Response> {
  const { headers, body } = wireRequest('modern', 'subscriptions/listen', {
    notifications: { resourceSubscriptions: uris },
  })
  return fetch(new URL(gridPath, grid.url), {
    method: 'POST',
    headers: { ...headers, ...bearing(key).headers },
    body: JSON.stringify(body),
  })
}

function bearing(key: string) {
  return { headers: { Authorization: `Bearer ${key}` } }
}

function send() {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'hello' })
}
