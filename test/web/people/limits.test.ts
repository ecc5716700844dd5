/** Attackers who reach limits cannot lock users out. See docs/people.md, "Signing in". */
import { beforeEach, expect, test } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { repeatAttempts } from '../../support/database.ts'
import type { Limits } from '../../../src/config.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { csrfTokenOf, password, person, signedIn } from '../../support/people.ts'
import { signUp } from '../../support/signup.ts'
import { waitFor } from '../../support/wait-for.ts'

const email = 'bob@acme.example'
const home = '192.0.2.1'
const kindsTo = (address: string) => grid.emails.filter(({ to }) => to === address).map(({ kind }) => kind)

let grid: TestGrid
beforeEach(() => open())

/** Opens a grid. Its user Bob has already signed in from home once, and signed out. */
async function open(limits: Partial<Limits> = {}): Promise<void> {
  grid = await testGrid({ limits })
  const bob = await signedIn(grid, await person(grid, { role: 'member', email }), home)
  await bob.submit(`/accounts/${grid.acme.id}`, {}, '/sign-out')
}

test('while attackers use up the hashing capacity, a user can sign in from a familiar address', async () => {
  const strangers = await Promise.all(Array.from({ length: 60 }, async (_, n) => {
    const one = browser(grid, `198.51.100.${n}`)
    return { one, csrf: await csrfTokenOf(one, '/sign-in') }
  }))
  const bob = browser(grid, home)
  const csrf = await csrfTokenOf(bob, '/sign-in')

  const guesses = strangers.map(({ one, csrf }, n) =>
    one.post('/sign-in', { csrf, email: `p${n}@acme.example`, password: 'a guess' })
  )
  const page = await bob.post('/sign-in', { csrf, email, password })

  expect(page.text).toContain('Acme')
  expect((await Promise.all(guesses)).filter(({ status }) => status === 429).length).toBeGreaterThan(0)
}, 60_000)

test(
  'after too many guesses for the grid or the user, the user can still sign in from a familiar address',
  async () => {
    for (let n = 0; n < 8; n++) {
      expect((await browser(grid, `198.51.100.${n}`).signIn(email, 'a guess')).status).toBe(
        401,
      )
    }

    await repeatAttempts(grid, 'sign_in_all', 6_000)
    const bob = browser(grid, home)
    const elsewhere = browser(grid, '198.51.100.9')

    expect((await elsewhere.signIn(email, 'a typing error')).status).toBe(401)
    expect((await elsewhere.signIn(email, password)).status).toBe(429)
    expect((await bob.signIn(email, 'a typing error')).status).toBe(401)
    expect((await bob.signIn(email, password)).text).toContain('Acme')
  },
  60_000,
)

test("sign-in links requested by others do not use up a user's reset links", async () => {
  for (let n = 0; n < 5; n++) {
    await browser(grid, `198.51.100.${n}`).submit('/sign-in-link', { email })
    grid.clock.now += 6 * minute
  }
  expect(kindsTo(email)).toEqual(['sign_in', 'sign_in', 'sign_in'])

  await browser(grid, '203.0.113.1').submit('/reset', { email })

  expect(kindsTo(email).at(-1)).toBe('password_reset')
})

test("reset links requested by others do not use up a user's reset links from a familiar address", async () => {
  for (let n = 0; n < 5; n++) {
    await browser(grid, `198.51.100.${n}`).submit('/reset', { email })
    grid.clock.now += 6 * minute
  }
  expect(kindsTo(email)).toHaveLength(3)

  for (let n = 0; n < 5; n++) {
    await browser(grid, home).submit('/reset', { email })
    grid.clock.now += 6 * minute
  }

  expect(kindsTo(email)).toHaveLength(6)
})

test("requests for addresses without a user do not count towards the grid's email limit", async () => {
  await open({ emailsPerHour: 2 })
  for (let n = 0; n < 12; n++) await browser(grid, `198.51.100.${n}`).submit('/reset', { email: `p${n}@x.example` })
  expect(grid.emails).toHaveLength(0)

  await browser(grid, '203.0.113.1').submit('/reset', { email })

  expect(kindsTo(email)).toEqual(['password_reset'])
})

test.each([true, false])(
  "a client's remaining limit does not reveal whether addresses have users (%s)",
  async (haveUsers) => {
    const guessed = Array.from({ length: 19 }, (_, n) => `p${n}@acme.example`)
    if (haveUsers) { for (const email of guessed) await person(grid, { email }) }
    const spy = browser(grid, '198.51.100.1')
    for (const email of guessed) await spy.submit('/reset', { email })

    await spy.submit('/reset', { email })
    await person(grid, { email: 'spy@evil.example' })
    await spy.submit('/reset', { email: 'spy@evil.example' })

    expect(kindsTo(email)).toHaveLength(1)
    expect(kindsTo('spy@evil.example')).toHaveLength(0)
  },
)

test("claim emails use at most 40 % of the grid's email limit, and leave room for invitations and links", async () => {
  await open({ emailsPerHour: 10 })
  for (let n = 0; n < 12; n++) {
    await signUp(grid, { alias: `zoe-${n}`, owner_email: `p${n}@owner.example` }, `198.51.100.${n}`)
  }
  const refused = () => grid.logs.filter((line) => line.includes('An email link was not sent')).length
  await waitFor('the emails', () => grid.emails.length + refused() === 12)
  expect(grid.emails).toHaveLength(4)

  const team = `/accounts/${grid.acme.id}/settings/team`
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
  await owner.submit(team, { email: 'x@people.example', role: 'member' }, `${team}/invitations`)
  await browser(grid, '203.0.113.1').submit('/reset', { email })

  expect(grid.emails.slice(4).map(({ kind }) => kind)).toEqual(['invitation', 'password_reset'])
})
