/**
 * How many times each call waits for a remote database. Concurrent reads share a request: see docs/architecture.md,
 * "Reads and writes".
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CountingProxy, countingProxy } from '../support/counting-proxy.ts'
import { postA2a, send03 } from '../support/a2a.ts'
import { callTool } from '../support/mcp.ts'
import { type OAuthGrid, oauthGrid, obtainTokens, refresh } from '../support/oauth.ts'
import { callRest } from '../support/rest.ts'
import { signUp } from '../support/signup.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

let server: Sqld
let proxy: CountingProxy
let grid: OAuthGrid
beforeAll(async () => {
  server = await startSqld()
  proxy = await countingProxy(server.url, 5)
  grid = await oauthGrid({ url: proxy.url })
  await callTool(grid, grid.acme.adminKey, 'admin_create_channel', { name: 'all', members: ['alice', 'bob'] })
  const tokens = await obtainTokens(grid, `agent:${grid.alice.id}`)
  accessToken = tokens.access_token
  refreshToken = tokens.refresh_token
})
afterAll(async () => {
  await grid.close()
  proxy.close()
  await server.stop()
})

let accessToken: string
let refreshToken: string

const tool = (name: string, args: object = {}) => () => callTool(grid, grid.alice.key, name, { ...args })
const hello = { to: 'bob', message: 'hello' }
const send = tool('send_message', hello)

/** Returns the largest number of rounds of three calls, after a first call that opens connections and compiles code. */
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
  ['a send: the key, the recipient and turns; the commit', 2, send],
  ['a send with an access token', 2, () => callTool(grid, accessToken, 'send_message', hello)],
  ['a send over A2A', 3, () => postA2a(grid, grid.alice.key, send03({ metadata: { to: '@bob' } }))],
  ['a send over REST', 2, () => callRest(grid, grid.alice.key, 'POST /api/v1/messages', hello)],
  [
    'a send with an idempotency key',
    2,
    () => tool('send_message', { ...hello, idempotency_key: crypto.randomUUID() })(),
  ],
  ['a post to a channel', 2, tool('send_message', { to: '#all', message: 'hello' })],
  ['a reply: also the turns of its conversation', 2, async () => {
    const reply_to_message_id = await fromBob()
    return await tool('send_message', { ...hello, reply_to_message_id })()
  }],
  ['a reply in a conversation', 2, async () => {
    const reply_to_message_id = await fromBob({ conversation_id: 'plans' })
    return await tool('send_message', { ...hello, reply_to_message_id })()
  }],
  ['the answer of a worker, which acks and takes the next message', 2, async () => {
    const reply_to_message_id = await fromBob()
    const { body: { lease_id } } = await callRest(grid, grid.alice.key, 'POST /api/v1/inbox/leases')
    await fromBob()
    const acks = { lease_id, message_ids: [reply_to_message_id] }
    const answer = { ...hello, reply_to_message_id, acks, next: { limit: 1 } }
    return await callRest(grid, grid.alice.key, 'POST /api/v1/messages', answer)
  }],
  ['a read of one message: the key and the number of unread ones; the claim', 2, async () => {
    await fromBob()
    return await tool('read_messages')()
  }],
  ['an empty read', 1, tool('read_messages')],
  ['message_status', 1, async () => {
    const { text: { message_id } } = await send()
    proxy.rounds = 0
    return await tool('message_status', { message_id })()
  }],
  ['list_agents', 1, tool('list_agents')],
  ['search_messages', 1, tool('search_messages', { query: 'hello' })],
  ['a refresh of tokens: the client and the token; the commit', 2, async () => {
    const { status, body } = await refresh(grid, refreshToken)
    expect(status).toBe(200)
    refreshToken = body.refresh_token
  }],
  // The background email for a new account shares these rounds.
  ['a signup: its limits and account; its names; the commit', 3, async () => {
    const alias = `a${crypto.randomUUID().slice(0, 8)}`
    const response = await signUp(
      grid,
      { alias, owner_email: 'ann@owner.example' },
      `2001:db8:${alias.slice(1, 5)}::/64`,
    )
    expect(response.status).toBe(201)
  }],
])('%s, in this many rounds of the database: %i', async (_, most, call) => {
  expect(await roundsOf(call)).toBe(most)
})

/** Sends a message to the caller. Its own rounds do not count. */
async function fromBob(more: object = {}): Promise<string> {
  const { body } = await callRest(grid, grid.bob.key, 'POST /api/v1/messages', {
    to: 'alice',
    message: 'hello',
    ...more,
  })
  await grid.store.drained()
  proxy.rounds = 0
  return body.message_id
}
