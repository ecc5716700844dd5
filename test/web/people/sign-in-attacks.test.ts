/** Signing in under attack: guessed passwords, and a session cookie set before. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hour } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { csrfTokenOf, password, person } from '../../support/people.ts'

const email = 'bob@acme.example'

let grid: TestGrid
let profile: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  await person(grid, { role: 'member', email })
  profile = `/accounts/${grid.acme.id}/settings/profile`
})
afterEach(() => grid.close())

test('of 1,000 guesses at most 10 are checked, and the owner can sign in from another address', async () => {
  const thief = browser(grid, '198.51.100.1')
  const csrf = await csrfTokenOf(thief, '/sign-in')
  const statuses = new Map<number, number>()
  for (let n = 0; n < 1_000; n++) {
    const { status } = await thief.post('/sign-in', { csrf, email, password: `guess ${n}` })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }

  expect([...statuses.keys()].sort()).toEqual([401, 429])
  expect(statuses.get(401)).toBeLessThanOrEqual(10)
  expect((await browser(grid, '192.0.2.1').signIn(email, password)).text).toContain('Acme')
}, 120_000)

test('too many attempts get a retry time, for known and unknown addresses alike', async () => {
  const answers = []
  for (const address of [email, 'nobody@acme.example']) {
    const one = browser(grid, '198.51.100.2')
    const pages = []
    for (let n = 0; n < 8; n++) pages.push(await one.signIn(address, 'wrong password'))
    answers.push(pages.map(({ status, headers, text }) => [status, headers.get('retry-after'), text]))
  }

  expect(answers[1]).toEqual(answers[0])
  expect(answers[0].at(-1)).toEqual([429, expect.stringMatching(/^\d+$/), expect.stringContaining('Try again in')])
})

test('signing in does not adopt a session cookie that was set before', async () => {
  const planted = 'x'.repeat(43)
  const one = browser(grid)
  one.cookies.set('grid-session', planted)

  await one.signIn(email, password)

  expect(one.cookies.get('grid-session')).not.toBe(planted)
  expect((await rows(grid, 'SELECT count(*) AS n FROM sessions WHERE ended_at IS NULL'))[0].n).toBe(1)
  grid.clock.now += hour
  const thief = browser(grid)
  thief.cookies.set('grid-session', planted)
  expect((await thief.open(profile)).at).toMatch(/^\/sign-in/)
})
