/**
 * A remote agent gets one request per sender at a time, and each request may last until the agent's time limit.
 * docs/protocol/remote-agents.md, "How messages are sent".
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { minute, second } from '../../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type Answer, messageResult, type RemoteAgent, remoteAgent, taskResult } from '../../support/remote-agent.ts'
import { waitFor } from '../../support/wait-for.ts'
import { TestOutboxes } from '../../support/outboxes.ts'

let grid: TestGrid
let remote: RemoteAgent
let outboxes: TestOutboxes
let answer: (text: string) => Answer | Promise<Answer>

beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  answer = () => messageResult('ok')
  remote = await remoteAgent(({ params }) => answer(String(params.message?.parts[0].text)))
  await create('robot')
  outboxes = new TestOutboxes(grid.store)
})
afterEach(async () => {
  await outboxes.stop()
  await remote.close()
  await grid.close()
})

const create = (alias: string, remoteUrl = remote.url) =>
  callTool(grid, grid.acme.adminKey, 'admin_create_agent', { alias, type: 'a2a', remoteUrl })
type Sender = Pick<TestGrid['alice'], 'key'>
const send = async (message: string, { key }: Sender = grid.alice, to = '@robot') =>
  String((await callTool(grid, key, 'send_message', { to, message })).text.message_id)
const read = async ({ key }: Sender = grid.alice) => (await callTool(grid, key, 'read_messages')).text
const statusOf = async (message_id: string) => {
  const { text: { delivery, timeline } } = await callTool(grid, grid.alice.key, 'message_status', { message_id })
  return {
    delivery,
    timeline: timeline.map(({ event, attempt = '' }: Record<string, unknown>) => `${event} ${attempt}`.trim()),
  }
}
const texts = () => remote.calls.flatMap(({ params }) => params.message?.parts[0].text ?? [])
const answerWithin = (ms: number) =>
  grid.store.write([{ sql: 'UPDATE remote_agents SET answer_ms = ? WHERE account_id = ?', args: [ms, grid.acme.id] }])

async function step(ms = 0): Promise<void> {
  grid.clock.now += ms
  await outboxes.run()
  await outboxes.settled()
}

/** Returns a promise of a response, and the function with which the test gives the response. */
function later() {
  let give: (answer: Answer) => void
  const promise = new Promise<Answer>((resolve) => give = resolve)
  return { promise, give: give! }
}

test("while an agent works on one sender's message for three minutes, it answers another sender's message within 5 s", async () => {
  const slow = later()
  answer = (text) => text === 'slow' ? slow.promise : messageResult(`ok ${text}`)
  const id = await send('slow')
  await send('behind it')
  await outboxes.run()
  await waitFor('the slow request', () => remote.calls.length === 1)
  expect(await statusOf(id)).toEqual({ delivery: 'pending', timeline: ['stored', 'sent 1'] })

  const sentAt = performance.now()
  await send('quick', grid.bob)
  await outboxes.run()
  await waitFor('the quick answer', async () => (await read(grid.bob)).length === 1)
  expect(performance.now() - sentAt).toBeLessThan(5 * second)
  expect(texts()).toEqual(['slow', 'quick'])

  grid.clock.now += 3 * minute
  slow.give(messageResult('ok slow'))
  await waitFor('both answers', async () => {
    await outboxes.run()
    return texts().length === 3 && (await read()).some(({ message }: { message: string }) => message === 'ok behind it')
  })
  expect(texts()).toEqual(['slow', 'quick', 'behind it'])
  expect((await statusOf(id)).timeline).toEqual(['stored', 'sent 1', 'accepted', 'replied'])
})

test('an agent gets at most four requests at a time, each for a different sender', async () => {
  const first = later()
  answer = (text) => text === '0' ? first.promise : 'hang'
  for (let n = 0; n < 6; n++) {
    const sender = await grid.acme.agent(`sender-${n}`)
    await send(`${n}`, sender)
    await send(`${n} again`, sender)
    grid.clock.now++
  }
  for (let n = 0; n < 3; n++) await outboxes.run()
  await waitFor('four requests', () => texts().length === 4)
  await outboxes.run()
  expect(texts().toSorted()).toEqual(['0', '1', '2', '3'])

  first.give(messageResult('ok'))
  await waitFor('the fifth request', () => texts().length === 5)

  expect(['0 again', '4', '5']).toContain(texts()[4])
})

test("two processes keep each sender's order, and send nothing twice", async () => {
  const other = new TestOutboxes(grid.store)
  const senders = [grid.alice, grid.bob, await grid.acme.agent('carol')]
  for (let n = 0; n < 10; n++) {
    for (const [m, sender] of senders.entries()) await send(`${m} ${n}`, sender)
  }

  await waitFor('all messages', async () => {
    await Promise.all([outboxes.run(), other.run()])
    return texts().length >= 30
  })
  await Promise.all([outboxes.settled(), other.settled()])

  for (const m of senders.keys()) {
    expect(texts().filter((text) => String(text).startsWith(`${m} `))).toEqual(
      Array.from({ length: 10 }, (_, n) => `${m} ${n}`),
    )
  }
  await other.stop()
})

test('a message that an agent twice received completely without responding is parked, and the next one is sent', async () => {
  let failures = 1
  answer = (text) => text !== 'endless' ? messageResult('ok') : failures-- > 0 ? { status: 503 } : 'hang'
  await answerWithin(300)
  const id = await send('endless')
  await send('next')
  await step()
  await step(minute)
  expect((await statusOf(id)).delivery).toBe('pending')
  await step(minute)
  await step(minute)

  expect(remote.calls.map(({ params }) => params.message!.messageId).filter((sent) => sent === id)).toHaveLength(3)
  expect(texts().at(-1)).toBe('next')
  expect((await statusOf(id)).delivery).toBe('failed')
  const [notice, reply] = await read()
  expect(notice).toMatchObject({ type: 'system', reply_to_message_id: id })
  expect(notice.message).toContain('It received the message 2 times. It did not answer within 0.3 s.')
  expect(reply.message).toBe('ok')
})

const json = { 'content-type': 'application/json' }
test.each<[string, Answer]>([
  ['more than 4 MiB', { raw: `"${'x'.repeat(5 * 2 ** 20)}"`, headers: json }],
  ['HTML', { raw: '<html>', headers: { 'content-type': 'text/html' } }],
  ['no result', { raw: '{"jsonrpc":"2.0","id":1}', headers: json }],
  ['another id', { raw: '{"jsonrpc":"2.0","id":"another","result":{"message":{"messageId":"m"}}}', headers: json }],
  ['an id of 300 characters', taskResult('t'.repeat(300), 'WORKING')],
  ['an id with an invisible character', taskResult('t\u200b1', 'WORKING')],
  ['an empty answer', { status: 204 }],
])('a message that gets the response %s three times is parked', async (_, useless) => {
  answer = (text) => text === 'bad' ? useless : messageResult('ok')
  const id = await send('bad')
  await send('next')
  await step()
  await step(5 * second)
  expect((await statusOf(id)).delivery).toBe('pending')
  await step(30 * second)
  await step()

  expect(remote.calls.map(({ params }) => params.message!.messageId).filter((sent) => sent === id)).toHaveLength(3)
  expect((await statusOf(id)).delivery).toBe('failed')
  expect((await read()).map(({ message }: { message: string }) => message)).toEqual([
    expect.stringContaining('It received the message 3 times.'),
    'ok',
  ])
})

test.each<[string, Answer]>([
  ['408', { status: 408 }],
  ['425', { status: 425 }],
  ['429', { status: 429 }],
  ['a page of 5 MiB with 502', (response) => response.writeHead(502).end('x'.repeat(5 * 2 ** 20))],
  ['an HTML page of a proxy with 502', (response) => response.writeHead(502).end('<html>')],
  ['an internal error of JSON-RPC', { error: { code: -32603, message: 'busy' } }],
  ['half an answer', (response) => {
    response.writeHead(200, { ...json, 'content-length': '100' })
    response.write('{"jsonrpc"', () => response.socket!.resetAndDestroy())
  }],
])('a message is tried again after %s', async (_, busy) => {
  answer = () => busy
  const id = await send('hello')
  for (let n = 0; n < 8; n++) await step(10 * minute)
  expect((await statusOf(id)).delivery).toBe('pending')

  answer = () => messageResult('ok')
  await step(60 * minute)

  expect((await statusOf(id)).delivery).toBe('delivered')
})

test('invalid responses are counted per message', async () => {
  let answers = 0
  answer = () => ++answers % 3 === 0 ? messageResult('ok') : { raw: '<html>', headers: { 'content-type': 'text/html' } }
  const ids = [await send('one'), await send('two')]
  for (let n = 0; n < 8; n++) await step(minute)

  expect(texts()).toEqual(['one', 'one', 'one', 'two', 'two', 'two'])
  expect(await Promise.all(ids.map(async (id) => (await statusOf(id)).delivery))).toEqual(['delivered', 'delivered'])
})

test("a failed message that reached the server keeps its retry time when another sender's message is accepted", async () => {
  answer = (text) => text === 'bad' ? { status: 503 } : messageResult('ok')
  const bad = await send('bad')
  await step()
  await send('good', grid.bob)
  await step(second)
  await step()

  expect(texts()).toEqual(['bad', 'good'])
  expect((await statusOf(bad)).timeline).toEqual(['stored', 'sent 1'])
  await step(4 * second)
  expect(texts()).toEqual(['bad', 'good', 'bad'])
})

test("only the message that was sent counts as failing, not the same sender's later messages", async () => {
  answer = () => ({ status: 503 })
  await send('of bob', grid.bob)
  const ids = [await send('of alice'), await send('behind it')]
  await step()

  expect(await Promise.all(ids.map(async (id) => (await statusOf(id)).timeline))).toEqual([['stored', 'sent 1'], [
    'stored',
  ]])
})

test('after three failures in a row a server is skipped, at most for a minute, and then gets one request', async () => {
  answer = () => ({ status: 503 })
  // Stops the outboxes until all requests can start at the same time.
  await outboxes.stop()
  for (let n = 0; n < 4; n++) {
    await create(`robot-${n}`)
    await send('hello', grid.alice, `@robot-${n}`)
  }
  outboxes = new TestOutboxes(grid.store)
  await step()
  expect(texts()).toHaveLength(4)
  await send('another')
  await step(10 * second - 1)
  expect(texts()).toHaveLength(4)
  expect(grid.store.outbound.pausedServers).toBe(1)
  await step(1)
  expect(texts()).toHaveLength(5)
  // Each further failure doubles the pause.
  for (let n = 0; n < 6; n++) await step(2 * minute)
  const before = texts().length
  answer = () => messageResult('ok')
  await step(minute)
  expect(texts()).toHaveLength(before + 1)

  // A server that responds gets all waiting messages.
  await waitFor('all messages', async () => {
    await step(minute)
    return (await read()).length > 0 && texts().length > before + 4
  })
  expect(grid.store.outbound.pausedServers).toBe(0)
})

test('once a server is reachable again, messages that never reached it are sent immediately', async () => {
  const { url } = remote
  await remote.close()
  await send('one')
  for (let n = 0; n < 5; n++) await step(10 * minute)
  await send('two', grid.bob)
  remote = await remoteAgent(() => messageResult('ok'), {}, Number(new URL(url).port))

  await step(minute)
  await step()

  expect(texts().toSorted()).toEqual(['one', 'two'])
})

test('slow agents do not delay other agents of the account', async () => {
  answer = (text) => text === 'quick' ? messageResult('ok') : 'hang'
  const other = await remoteAgent(() => messageResult('ok'))
  const elsewhere = await remoteAgent(() => 'hang')
  await create('healthy', other.url)
  for (let n = 0; n < 10; n++) {
    await create(`robot-${n}`)
    await create(`robot-elsewhere-${n}`, elsewhere.url)
    await send('slow', grid.alice, `@robot-${n}`)
    await send('slow', grid.alice, `@robot-elsewhere-${n}`)
  }
  for (let n = 0; n < 3; n++) await outboxes.run()
  await waitFor('16 requests', () => remote.calls.length + elsewhere.calls.length === 16)
  await send('quick', grid.bob, '@healthy')

  await waitFor('the healthy agent', () => other.calls.length === 1)

  await Promise.all([other.close(), elsewhere.close()])
})
