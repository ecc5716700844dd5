/** Signing in under attack: guessed passwords, and a session cookie set before. */
import { beforeEach, expect, test } from 'vitest'
import { hour } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { password, person } from '../../support/people.ts'

const email = 'bob@acme.example'

let grid: TestGrid
let profile: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  await person(grid, { role: 'member', email })
  profile = `/accounts/${grid.acme.id}/settings/profile`
})

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
