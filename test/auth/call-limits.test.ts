/** The call limits of credentials, at every interface. See docs/protocol/README.md, "Call limits". */
import { expect, test } from 'vitest'
import { createAuthenticator } from '../../src/auth/bearer.ts'
import { mintKey } from '../../src/lib/secrets.ts'
import { second } from '../../src/lib/time.ts'
import { endpoint as a2aPath, errorInfo, postA2a, send03 } from '../support/a2a.ts'
import { readEvents } from '../support/events.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { gridPath, mcp } from '../support/mcp.ts'
import { sendMessage } from '../support/messaging.ts'

const wakePath = '/api/agents/wake-stream'
const keyPath = '/api/oauth/api-key'
const partPath = '/api/v1/parts/none'
/** How many calls a credential may make at once, with a limit of one call a second. */
const burst = 25
const accountBurst = 100
const message = 'Too many calls: this credential may make 25 at once and 1 a second. Call again in 1 second.'
const tooManyKeys =
  'Too many refused keys came from this address: 120 a minute are answered. Check the key and try again in 1 second.'

let grid: TestGrid

const open = async () => {
  grid = await testGrid({ env: { CALLS_PER_SECOND: '1' } })
}
const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })
/** Makes the cheapest call. Its method is refused, but only after the call is counted. */
const call = (key: string, address?: string) => grid.request(gridPath, { method: 'PUT', headers: bearer(key) }, address)
const statuses = async (count: number, send: () => Promise<{ status: number }>) => {
  const all: number[] = []
  for (let n = 0; n < count; n++) all.push((await send()).status)
  return all
}
/** Makes calls until this many of the burst remain. */
const spend = async (key: string, left = 0) => {
  expect(await statuses(burst - left, () => call(key))).toEqual(Array(burst - left).fill(405))
}
const limitHeaders = ({ headers }: { headers: Headers }) =>
  ['retry-after', 'ratelimit-policy', 'ratelimit'].map((name) => headers.get(name))
const callHeaders = ['1', '"calls";q=25;w=25', '"calls";r=0;t=1']
const rpcBody = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32000, message, data: { code: 'rate_limit_exceeded', retry_after_seconds: 1 } },
}

test("all interfaces share a credential's call limit, and each refuses in its own format", async () => {
  await open()
  const rest = (method: string, path: string) => () => grid.request(path, { method, headers: bearer(grid.alice.key) })
  await spend(grid.alice.key, 6)
  expect((await mcp(grid, grid.alice.key, 'tools/list')).status).toBe(200)
  expect((await postA2a(grid, grid.alice.key, send03())).status).toBe(200)
  expect((await rest('GET', partPath)()).status).toBe(404)
  expect((await rest('GET', '/api/v1/inbox')()).status).toBe(200)
  expect((await rest('POST', '/api/v1/messages')()).status).toBe(400)
  await (await rest('GET', wakePath)()).body?.cancel()

  const viaMcp = await mcp(grid, grid.alice.key, 'tools/list')
  expect([viaMcp.status, viaMcp.body, limitHeaders(viaMcp)]).toEqual([429, rpcBody, callHeaders])
  const viaA2a = await postA2a(grid, grid.alice.key, send03())
  const metadata = { code: 'rate_limit_exceeded', retry_after_seconds: '1' }
  expect([viaA2a.status, limitHeaders(viaA2a)]).toEqual([429, callHeaders])
  expect(viaA2a.body.error).toEqual({
    code: -32050,
    message,
    data: [errorInfo('RATE_LIMITED', 'localhost', metadata)],
  })
  for (const path of [partPath, '/api/v1/inbox', wakePath]) {
    const refused = await rest('GET', path)()
    expect([refused.status, limitHeaders(refused)]).toEqual([429, callHeaders])
    expect(await refused.json()).toEqual({ error: { code: 'rate_limit_exceeded', message, retry_after_seconds: 1 } })
  }
  expect((await rest('POST', keyPath)()).status).toBe(429)
  expect((await mcp(grid, grid.bob.key, 'tools/list')).status).toBe(200)
})

test("an account's credentials share its call limit, and refused calls do not count", async () => {
  await open()
  const more = await Promise.all(['carol', 'dave'].map((alias) => grid.acme.agent(alias)))
  for (const { key } of [grid.bob, ...more]) await spend(key)
  await spend(grid.alice.key, 5)
  expect(await statuses(5, () => call(grid.acme.adminKey))).toEqual(Array(5).fill(405))
  const refused = await mcp(grid, grid.acme.adminKey, 'tools/list')

  expect([refused.status, ...limitHeaders(refused)])
    .toEqual([429, '1', `"account-calls";q=${accountBurst};w=20`, '"account-calls";r=0;t=1'])
  expect(refused.body.error.message).toBe(
    'Too many calls: this account may make 100 at once and 5 a second. Call again in 1 second.',
  )
  expect(await statuses(9, () => call(grid.alice.key))).toEqual(Array(9).fill(429))
  expect((await call(grid.eve.key)).status).toBe(405)
  // Alice's credential has six tokens, because refused calls used none. Her account has only the five refilled since.
  grid.clock.now += second
  expect(await statuses(6, () => call(grid.alice.key))).toEqual([...Array(5).fill(405), 429])
})

test("calls refused by a credential's limit do not use up the account's limit", async () => {
  await open()
  await spend(grid.alice.key)
  expect(await statuses(accountBurst, () => call(grid.alice.key))).toEqual(Array(accountBurst).fill(429))

  expect((await call(grid.bob.key)).status).toBe(405)
})

test("a credential may call again at the limit's rate, and refused calls do not count", async () => {
  await open()
  await statuses(burst + 7, () => call(grid.alice.key))

  grid.clock.now += 999
  expect(await statuses(1, () => call(grid.alice.key))).toEqual([429])
  grid.clock.now += 1
  expect(await statuses(2, () => call(grid.alice.key))).toEqual([405, 429])
  grid.clock.now += 60 * second
  await spend(grid.alice.key)
  expect((await call(grid.alice.key)).status).toBe(429)
})

test.each([[gridPath, rpcBody], [a2aPath, undefined]])(
  'a call above the limit at %s is refused before its body is read',
  async (path, body) => {
    await open()
    let pulled = 0
    const post = () =>
      grid.request(path, {
        method: 'POST',
        headers: { ...bearer(grid.alice.key), 'Content-Type': 'application/json' },
        body: new ReadableStream({
          pull(controller) {
            pulled++
            controller.close()
          },
        }, { highWaterMark: 0 }),
        duplex: 'half',
      } as RequestInit)
    await spend(grid.alice.key, 3)
    await statuses(3, post)
    expect(pulled).toBe(3)

    const refused = await post()

    expect([refused.status, pulled]).toEqual([429, 3])
    if (body) expect(await refused.json()).toEqual(body)
  },
)

test('checks during an open stream do not count as calls', async () => {
  await open()
  await spend(grid.bob.key, 1)
  const events = readEvents(await grid.request(wakePath, { headers: bearer(grid.bob.key) }))
  await events.frame()
  for (const text of ['one', 'two', 'three']) {
    await sendMessage(await createAuthenticator(grid.store)(bearer(grid.alice.key).Authorization), { to: 'bob', text })
    expect(await events.event()).toBe('data: wake')
  }
  await events.close()
})

test("an address with too many refused keys gets 429, in each interface's format", async () => {
  await open()
  const { key } = mintKey('agent_key')
  expect(await statuses(120, () => call(key))).toEqual(Array(120).fill(401))

  const answers = [await mcp(grid, 'typo', 'tools/list'), await postA2a(grid, key, send03())]
  const plain = [
    await grid.request(wakePath, { headers: bearer(key) }),
    await grid.request(keyPath, { method: 'POST', headers: bearer(key) }),
    await grid.request('/api/v1/inbox', { headers: bearer(key) }),
  ]

  for (const answer of [...answers, ...plain]) {
    expect(answer.status).toBe(429)
    expect(limitHeaders(answer)).toEqual(['1', '"failed-keys";q=120;w=60', '"failed-keys";r=0;t=1'])
  }
  expect(answers.map(({ body }) => body.error.code)).toEqual([-32000, -32050])
  expect(await plain[0].json()).toEqual({
    error: { code: 'rate_limit_exceeded', message: tooManyKeys, retry_after_seconds: 1 },
  })
})

test('an address with too many refused keys can still call with a valid key, and other addresses are not affected', async () => {
  await open()
  await statuses(130, () => call('guess'))

  expect((await mcp(grid, grid.alice.key, 'tools/list')).status).toBe(200)
  expect((await postA2a(grid, grid.alice.key, send03())).status).toBe(200)
  expect((await call('guess', '203.0.113.8')).status).toBe(401)
  grid.clock.now += 499
  expect(await statuses(1, () => call('guess'))).toEqual([429])
  grid.clock.now += 1
  expect(await statuses(2, () => call('guess'))).toEqual([401, 429])
})

test('CALLS_PER_SECOND=0 disables the call limit', async () => {
  grid = await testGrid({ env: { CALLS_PER_SECOND: '0' } })

  expect(await statuses(101, () => call(grid.alice.key))).toEqual(Array(101).fill(405))
})
