/** How often each call waits for a remote database. What is read together is asked together: see docs/architecture.md, "Reads and writes". */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CountingProxy, countingProxy } from '../support/counting-proxy.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

let server: Sqld
let proxy: CountingProxy
let grid: TestGrid
beforeAll(async () => {
  server = await startSqld()
  proxy = await countingProxy(server.url, 5)
  grid = await testGrid({ url: proxy.url })
})
afterAll(async () => {
  await grid.close()
  proxy.close()
  await server.stop()
})

const tool = (name: string, args: object = {}) => () => callTool(grid, grid.alice.key, name, { ...args })
const hello = { to: 'bob', message: 'hello' }
const send = tool('send_message', hello)

/** The most of a few calls, after one that opens connections and compiles. */
async function roundsOf(call: () => Promise<unknown>): Promise<number> {
  const counts: number[] = []
  for (let n = 0; n < 4; n++) {
    await grid.store.drained()
    proxy.rounds = 0
    await call()
    counts.push(proxy.rounds)
  }
  return Math.max(...counts.slice(1))
}

test.each<[string, number, () => Promise<unknown>]>([
  ['a send: the key; the recipient and turns; the commit', 3, send],
  [
    'a send with an idempotency key',
    3,
    () => tool('send_message', { ...hello, idempotency_key: crypto.randomUUID() })(),
  ],
  ['a reply: also the turns of its conversation', 4, async () => {
    const reply_to_message_id = await fromBob()
    return await tool('send_message', { ...hello, reply_to_message_id })()
  }],
  ['a read of one message: the key; the number of unread ones; the claim', 3, async () => {
    await fromBob()
    return await tool('read_messages')()
  }],
  ['an empty read', 2, tool('read_messages')],
  ['message_status', 2, async () => {
    const { text: { message_id } } = await send()
    proxy.rounds = 0
    return await tool('message_status', { message_id })()
  }],
  ['list_agents', 2, tool('list_agents')],
  ['search_messages', 2, tool('search_messages', { query: 'hello' })],
])('%s, in so many rounds: %i', async (_, most, call) => {
  expect(await roundsOf(call)).toBeLessThanOrEqual(most)
})

/** Send a message to the caller. What that takes does not count. */
async function fromBob(): Promise<string> {
  const { text } = await callTool(grid, grid.bob.key, 'send_message', { to: 'alice', message: 'hello' })
  await grid.store.drained()
  proxy.rounds = 0
  return text.message_id
}
