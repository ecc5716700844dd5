/** A signup's claim email. See docs/security.md, "Signup and claims". */
import { beforeEach, expect, test } from 'vitest'
import { takeEmailAttempt } from '../../src/grid/people/throttle.ts'
import { minute } from '../../src/lib/time.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { SIGNUP_PER_HOUR: '1000' } })
})

test("an owner's first signup sends an email with the link and the alias, and no other input", async () => {
  const answer = await signUp(1, { description: 'canary text', skills: ['canary'] })
  const { trial } = await answer.json()

  await waitFor('the email', () => grid.emails.length === 1)
  expect(grid.emails[0]).toMatchObject({
    to: 'zoe@owner.example',
    kind: 'claim',
    link: expect.stringMatching(new RegExp(`^${trial.claim_url}/\\w{43}$`)),
  })
  expect(grid.emails[0].text).toContain('@zoe-1')
  expect(JSON.stringify(grid.emails)).not.toContain('canary')
})

test('100 signups for one owner from 100 addresses send at most 3 emails', async () => {
  // This is the worst case, because each signup opens an account and would send an email.
  grid = await testGrid({ env: { SIGNUP_JOIN: 'never' } })
  for (let n = 0; n < 100; n += 10) {
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => signUp(n + i)))
    expect(answers.every(({ status }) => status === 201)).toBe(true)
    grid.clock.now += 6 * minute
  }
  await emailsSettled()

  expect(grid.emails).toHaveLength(3)
})

test('an agent that joins an account causes no further email', async () => {
  await signUp(1)
  await emailsSettled()
  grid.clock.now += 10 * minute
  await signUp(2)
  await emailsSettled()

  expect(grid.emails).toHaveLength(1)
})

test('a signup succeeds even if its claim email cannot be queued', async () => {
  grid = await testGrid({
    inspect(sql) {
      if (/^INSERT INTO links\b/.test(sql)) throw new Error('no links today')
    },
  })

  expect((await signUp(1)).status).toBe(201)
  await waitFor('the warning', () => grid.logs.join('\n').includes('A claim email was not sent'))
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

/**
 * Waits for the claim emails, for which signups do not wait. Each email takes two units, so it has been sent when two
 * later units are committed.
 */
async function emailsSettled(): Promise<void> {
  for (const n of [1, 2]) {
    const email = `settled-${n}-${grid.clock.now}@x.example`
    await takeEmailAttempt(grid.store, { purpose: 'claim', email, address: `192.0.${n}.${grid.clock.now % 250}` })
  }
}
