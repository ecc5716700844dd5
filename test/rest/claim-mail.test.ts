/** The claim mail of a signup (security A1). */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { takeMailAttempt } from '../../src/grid/people/throttle.ts'
import { minute } from '../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1000' } })
})
afterEach(() => grid.close())

test('the first signup for an owner mails the link, with the alias and nothing else it says', async () => {
  const answer = await signUp(1, { description: 'canary text', skills: ['canary'] })
  const { trial } = await answer.json()

  await expect.poll(() => grid.mails).toHaveLength(1)
  expect(grid.mails[0]).toMatchObject({
    to: 'zoe@owner.example',
    kind: 'claim',
    link: expect.stringMatching(new RegExp(`^${trial.claim_url}/\\w{43}$`)),
  })
  expect(grid.mails[0].text).toContain('@zoe-1')
  expect(JSON.stringify(grid.mails)).not.toContain('canary')
})

test('1,000 signups for one owner from 1,000 addresses are at most 3 mails', { timeout: 300_000 }, async () => {
  await grid.close()
  // The worst case: each signup opens an account, and so would cause a mail.
  grid = await testGrid({ env: { SIGNUP_JOIN: 'never' } })
  for (let n = 0; n < 1_000; n += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => signUp(n + i)))
    expect(answers.every(({ status }) => status === 201)).toBe(true)
    grid.clock.now += 6 * minute
  }
  await quiet()

  expect(grid.mails).toHaveLength(3)
})

test('agents that join an account cause no further mail', async () => {
  await signUp(1)
  await quiet()
  grid.clock.now += 10 * minute
  await signUp(2)
  await quiet()

  expect(grid.mails).toHaveLength(1)
})

test('over MCP too', async () => {
  const call = { name: 'signup', arguments: { owner_email: 'zoe@owner.example', alias: 'zoe' } }
  await grid.post('/mcp/v1/signup', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }, {
    Accept: 'application/json, text/event-stream',
  })

  await expect.poll(() => grid.mails).toHaveLength(1)
})

test('a mail that cannot be queued fails no signup', async () => {
  await grid.close()
  grid = await testGrid({
    inspect(sql) {
      if (/attempts/.test(sql) && /^insert/i.test(sql)) throw new Error('no attempts today')
    },
  })

  expect((await signUp(1)).status).toBe(201)
  await expect.poll(() => grid.logs.join('\n')).toContain('A claim mail was not sent')
})

function signUp(n: number, more: Record<string, unknown> = {}): Promise<Response> {
  const address = `198.51.${n >> 8}.${n & 255}`
  return grid.post(
    '/api/v1/agentic-signup',
    { owner_email: 'zoe@owner.example', alias: `zoe-${n}`, ...more },
    {},
    address,
  )
}

/** What nobody waits for has passed once another one of its kind has. */
async function quiet(): Promise<void> {
  await takeMailAttempt(grid.store, `quiet-${grid.clock.now}@x.example`, `192.0.2.${grid.clock.now % 250}`)
}
