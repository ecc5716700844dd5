/** Every rate-limited HTTP response names the limit, and when to retry (docs/protocol/README.md). */
import { beforeEach, expect, test } from 'vitest'
import { postA2a, send03 } from './support/a2a.ts'
import { browser } from './support/browse.ts'
import { type TestGrid, testGrid } from './support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1', MESSAGES_PER_DAY: '1', UNREAD_PER_INBOX: '1' } })
})

type Answer = { status: number; headers: Headers }

/** Repeats a request until it is limited. Returns its status and headers. */
async function whenLimited(most: number, send: () => Promise<Answer>) {
  let answer: Answer
  for (let n = 0; n < most; n++) if ((answer = await send()).status === 429) break
  const { status, headers } = answer!
  return [status, ...['retry-after', 'ratelimit-policy', 'ratelimit'].map((name) => headers.get(name))]
}

test('a signup beyond its limit gets the rate limit headers', async () => {
  let n = 0
  const signUp = () =>
    grid.post('/api/v1/agentic-signup', { owner_email: 'zoe@example.com', alias: `zoe-${n++}` }, {}, '203.0.113.7')

  expect(await whenLimited(2, signUp)).toEqual([429, '3600', '"signups";q=1;w=3600', '"signups";r=0;t=3600'])
})

test('a sign-in beyond its limit gets the rate limit headers', async () => {
  const signIn = () => browser(grid).signIn('ann@acme.example', 'a wrong password')

  expect(await whenLimited(5, signIn)).toEqual([429, '30', '"sign-ins";q=4;w=30', '"sign-ins";r=0;t=30'])
})

test('a client registration beyond its limit gets the rate limit headers', async () => {
  const register = () => grid.post('/oauth/register', { redirect_uris: ['https://client.example/back'] })

  expect(await whenLimited(61, register))
    .toEqual([429, '3600', '"registrations";q=60;w=3600', '"registrations";r=0;t=3600'])
})

test('an event stream beyond its limit gets the rate limit headers', async () => {
  const opened: Response[] = []
  const open = async () => {
    const response = await grid.request('/api/agents/wake-stream', {
      headers: { Authorization: `Bearer ${grid.bob.key}` },
    })
    opened.push(response)
    return response
  }

  expect(await whenLimited(4, open)).toEqual([429, '15', '"streams";q=3', '"streams";r=0;t=15'])
  for (const response of opened.slice(0, -1)) await response.body!.cancel()
})

test('an A2A send beyond the daily quota gets the rate limit headers', async () => {
  const seconds = 15 * 3_600

  expect(await whenLimited(2, () => postA2a(grid, grid.alice.key, send03()))).toEqual([
    429,
    `${seconds}`,
    '"messages-per-day";q=1;w=86400',
    `"messages-per-day";r=0;t=${seconds}`,
  ])
})
