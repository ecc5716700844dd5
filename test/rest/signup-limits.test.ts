/**
 * A client address's signup limit. See docs/protocol/README.md, "Limits"; see docs/security.md, "Signup and claims".
 */
import { beforeEach, expect, test } from 'vitest'
import { hour } from '../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { signUp, signupPath } from '../support/signup.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '100' } })
})

test('of 20 parallel signups from one address, exactly SIGNUP_PER_HOUR are stored', async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '10' } })

  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => signUp(grid, { alias: `zoe-${n}`, owner_email: `a${n}@owner.example` })),
  )

  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(201), ...Array(10).fill(429)])
  for (const answer of answers.filter(({ status }) => status === 429)) {
    expect(answer.headers.get('retry-after')).toBe('3600')
  }
})

test.each([[hour - 1, 429], [hour, 201]])('the signup limit is per hour (after %i ms: %i)', async (ms, status) => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1' } })
  await signUp(grid, { alias: 'one' })
  grid.clock.now += ms

  expect((await signUp(grid, { alias: 'two' })).status).toBe(status)
})

test.each([
  ['address', '203.0.113.7', '203.0.113.8', '203.0.113.7'],
  ['/64', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:1:2:ffff::9'],
])('each %s has its own signup limit', async (_, first, other, again) => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1' } })

  expect((await signUp(grid, { alias: 'one' }, first)).status).toBe(201)
  expect((await signUp(grid, { alias: 'two' }, other)).status).toBe(201)
  expect((await signUp(grid, { alias: 'three' }, again)).status).toBe(429)
})

test('100 signups with different forged headers count as one client', async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '10' } })

  const answers = []
  for (let n = 0; n < 100; n++) {
    const headers = {
      'X-Forwarded-For': `198.51.100.${n}`,
      'X-Real-IP': `198.51.100.${n}`,
      Forwarded: `for=198.51.100.${n}`,
      'CF-Connecting-IP': `198.51.100.${n}`,
    }
    const body = { alias: `zoe-${n}`, owner_email: `a${n}@owner.example` }
    answers.push((await grid.post(signupPath, body, headers)).status)
  }

  expect(answers.filter((status) => status === 201)).toHaveLength(10)
})

test("behind a trusted proxy, a signup's client is the one in X-Forwarded-For", async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1', TRUSTED_PROXIES: '10.0.0.0/8' } })
  const via = (alias: string, forwarded: string) =>
    grid.post(
      signupPath,
      { alias, owner_email: `${alias}@owner.example` },
      { 'X-Forwarded-For': forwarded },
      '10.0.0.1',
    )

  expect((await via('one', '198.51.100.1')).status).toBe(201)
  expect((await via('two', '198.51.100.2')).status).toBe(201)
  expect((await via('three', '6.6.6.6, 198.51.100.1')).status).toBe(429)
})

test('signups from one /48 are limited to ten times the limit of a /64', async () => {
  grid = await testGrid()
  const from = (n: number) => `2001:db8:1:${(n >> 3).toString(16)}::1`

  const answers = []
  for (let n = 0; n < 500; n += 50) {
    answers.push(
      ...await Promise.all(
        Array.from({ length: 50 }, (_, i) => i + n).map((n) =>
          signUp(grid, { alias: `zoe-${n}`, owner_email: `a${n}@owner.example` }, from(n))
        ),
      ),
    )
  }

  expect(answers.filter(({ status }) => status === 201)).toHaveLength(100)
  const refused = answers.find(({ status }) => status === 429)!
  expect(refused.headers.get('retry-after')).toBe('3600')
  expect((await refused.json()).error).toEqual({
    code: 'signup_rate_limited',
    message: 'Too many signups. Try again in 60 minutes.',
    retry_after_seconds: 3_600,
  })
  expect((await signUp(grid, { alias: 'other' }, '2001:db8:11:1::1')).status).toBe(201)
  expect((await signUp(grid, { alias: 'another' }, '203.0.113.7')).status).toBe(201)
})

test('the grid has a limit for all signups together, and reaching it is logged', async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1' } })

  const signUpAs = (n: number) =>
    signUp(grid, { alias: `zoe-${n}`, owner_email: `a${n}@owner.example` }, `198.51.100.${n}`)
  for (let n = 0; n < 100; n++) expect((await signUpAs(n)).status).toBe(201)
  const refused = await signUpAs(100)

  expect(refused.status).toBe(429)
  expect(grid.logs.join('\n')).toContain('"level":"error","message":"The hourly signup limit of the grid is reached"')
  grid.clock.now += hour
  expect((await signUp(grid, { alias: 'later' })).status).toBe(201)
})
