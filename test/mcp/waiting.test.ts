import { beforeEach, expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { readEvents } from '../support/events.ts'
import { followIdle } from '../support/idle.ts'
import { callTool, eras, gridPath, mcp, toolResult, wireRequest } from '../support/mcp.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: LiveGrid
let idle: ReturnType<typeof followIdle>
let stop: AbortController
beforeEach(async () => {
  stop = new AbortController()
  grid = await liveGrid({ stopping: stop.signal })
  idle = followIdle(grid.store)
})

test.each(eras)('in the %s era, read_messages with wait_seconds returns when a message arrives', async (era) => {
  const reading = callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 20 }, era)
  await idle(1)
  await send('hello')

  expect((await reading).text).toMatchObject([{ message: 'hello' }])
})

test.each([[-1], [1.5], ['soon']])('read_messages refuses a wait of %s', async (wait_seconds) => {
  const refused = await callTool(grid, grid.bob.key, 'read_messages', { wait_seconds })

  expect(refused.code).toBe('invalid_input')
})

test.each(eras)('in the %s era, a wait above 20 s returns a stream that immediately sends a heartbeat', async (era) => {
  const response = await waiting({ wait_seconds: 50 }, era)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(response.headers.get('cache-control')).toBe('no-cache, no-transform')
  expect(response.headers.get('x-accel-buffering')).toBe('no')
  const events = readEvents(response)
  expect(await events.frame()).toMatch(/^:/)
  await send('hello')

  const [name, data] = (await events.event()).split('\n')
  expect(name).toBe('event: message')
  const answer = JSON.parse(data.slice('data: '.length))
  expect(answer).toMatchObject({ jsonrpc: '2.0', id: 1 })
  expect(toolResult(answer.result, 'read_messages').text).toMatchObject([{ message: 'hello' }])
  expect(await events.frame()).toBeUndefined()
})

test.each(eras)('in the %s era, a send that waits above 20 s for its answer returns a stream', async (era) => {
  await callTool(grid, grid.alice.key, 'read_messages')
  const question = { to: '@alice', message: 'ready?', wait_seconds: 50 }
  const events = readEvents(await calling('send_message', question, era))
  expect(await events.frame()).toMatch(/^:/)
  await idle(1)
  await callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: 'yes' })

  const [, data] = (await events.event()).split('\n')
  const { text } = toolResult(JSON.parse(data.slice('data: '.length)).result, 'send_message')
  expect(text).toMatchObject({ recipient: '@alice', answer: [{ message: 'yes' }] })
})

test('a wait of up to 20 s returns a single JSON response', async () => {
  await send('hello')
  const response = await waiting({ wait_seconds: 20 })

  expect(response.headers.get('content-type')).toBe('application/json')
  await response.body?.cancel()
})

test.each([20, 50])('no message is leased when the caller of a wait of %i s disconnects', async (wait_seconds) => {
  const client = new AbortController()
  const response = waiting({ wait_seconds }, 'legacy', client.signal)
  await waitFor('the wait', () => grid.store.waiting.reads.count === 1)
  client.abort()
  await response.catch(() => {})
  await waitFor('the end of the wait', () => grid.store.waiting.reads.count === 0)
  await send('hello')

  expect((await callTool(grid, grid.bob.key, 'read_messages')).text).toMatchObject([{ message: 'hello' }])
})

test('waits return when the process stops', async () => {
  const short = callTool(grid, grid.bob.key, 'read_messages', { wait_seconds: 20 })
  const long = readEvents(await waiting({ wait_seconds: 50 }))
  await waitFor('both waits', () => grid.store.waiting.reads.count === 2)
  stop.abort()

  expect((await short).text).toEqual([])
  expect(await long.event()).toContain('event: message')
})

test('the inbox resource counts messages without leasing them', async () => {
  await send('hello')
  const read = async () => {
    const { body } = await mcp(grid, grid.bob.key, 'resources/read', { uri: 'grid://inbox' })
    return JSON.parse(body.result.contents[0].text)
  }

  expect([await read(), await read()]).toEqual([{ unread: 1 }, { unread: 1 }])
})

test('an agent can subscribe only to its inbox, and an admin cannot subscribe', async () => {
  const subscribe = async (key: string, uri: string) => (await mcp(grid, key, 'resources/subscribe', { uri })).body

  expect((await subscribe(grid.bob.key, 'grid://inbox')).result).toEqual({})
  expect((await subscribe(grid.bob.key, 'grid://agents')).error).toMatchObject({ code: -32602 })
  expect((await subscribe(grid.acme.adminKey, 'grid://inbox')).error).toMatchObject({ code: -32601 })
})

test("an event stream signals only new messages of its agent's inbox", async () => {
  const [bob, alice] = [await stream(grid.bob.key), await stream(grid.alice.key)].map(readEvents)
  expect(await bob.frame()).toBe('retry: 15000')
  expect(await bob.frame()).toMatch(/^:/)
  await send('hello')

  expect(await bob.event()).toBe(
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"grid://inbox"}}',
  )
  await idle(2)
  stop.abort()
  for (let said; (said = await alice.frame()) !== undefined;) expect(said).not.toContain('data:')
})

test("an agent's fourth event stream gets 405 until another one is closed", async () => {
  const streams = []
  for (let i = 0; i < 3; i++) streams.push(readEvents(await stream(grid.bob.key)))
  expect((await stream(grid.bob.key)).status).toBe(405)
  await streams[0].close()
  await waitFor('the end of a stream', () => grid.store.waiting.streams.count === 2)

  const again = await stream(grid.bob.key)
  expect(again.status).toBe(200)
  for (const one of [...streams.slice(1), readEvents(again)]) await one.close()
})

test('an admin and a caller that does not accept event streams get 405', async () => {
  expect((await stream(grid.acme.adminKey)).status).toBe(405)
  expect((await stream(grid.bob.key, 'application/json')).status).toBe(405)
})

test('waits and event streams end when their key is revoked', async () => {
  const { key } = await grid.acme.agent('carol')
  const events = readEvents(await stream(key))
  await events.frame()
  const reading = callTool(grid, key, 'read_messages', { wait_seconds: 20 })
  await idle(2)
  await deleteAgent(grid.acme.store, 'carol')
  grid.clock.now += 20_000
  grid.store.waiting.notifier.notifyAll()

  expect(JSON.stringify(await reading)).toContain('revoked')
  for (let frame = await events.frame(); frame !== undefined; frame = await events.frame()) {
    expect(frame).not.toContain('data')
  }
})

function send(text: string) {
  return callTool(grid, grid.alice.key, 'send_message', { to: '@bob', message: text })
}

function waiting(args: object, era?: (typeof eras)[number], signal?: AbortSignal): Promise<Response> {
  return calling('read_messages', args, era, signal)
}

/** Calls a tool as @bob. */
function calling(
  name: string,
  args: object,
  era: (typeof eras)[number] = 'legacy',
  signal?: AbortSignal,
): Promise<Response> {
  const { headers, body } = wireRequest(era, 'tools/call', { name, arguments: args })
  return fetch(new URL(gridPath, grid.url), {
    method: 'POST',
    headers: { ...headers, Authorization: `Bearer ${grid.bob.key}` },
    body: JSON.stringify(body),
    signal,
  })
}

function stream(key: string, accept = 'text/event-stream'): Promise<Response> {
  return fetch(new URL(gridPath, grid.url), { headers: { Authorization: `Bearer ${key}`, Accept: accept } })
}
