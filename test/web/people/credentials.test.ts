/** Users change their password and email address, and verify the address. */
import { beforeEach, expect, test } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, emailedPath, password, type Person, person, signedIn } from '../../support/people.ts'

const next = 'a new horse battery'
const email = 'bob@acme.example'

let grid: TestGrid
let bob: Person
let profile: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  bob = await person(grid, { role: 'member', email })
  profile = `/accounts/${grid.acme.id}/settings/profile`
})

/** Advances the clock past the limit of emails to one address. */
const later = () => grid.clock.now += 6 * minute

test("a password reset ends all of the user's sessions and links, and is reported by email", async () => {
  const before = await signedIn(grid, bob)
  await browser(grid).submit('/sign-in-link', { email })
  const signInLink = emailedPath(grid)
  later()
  await browser(grid).submit('/reset', { email })
  const link = emailedPath(grid)
  for (let times = 0; times < 5; times++) expect((await browser(grid).open(link)).status).toBe(200)

  const common = await browser(grid).submit(link, { password: 'password123' })
  const page = await browser(grid).submit(link, { password: next })

  expect(common.status).toBe(400)
  expect(common.html).toContain('password-error')
  expect(page.at).toBe(arrivalOf(grid.acme, { done: 'password-reset' }))
  expect(page.text).toContain('programs can no longer act for you')
  expect((await before.open(profile)).at).toMatch(/^\/sign-in/)
  expect((await browser(grid).open(signInLink)).status).toBe(400)
  expect((await browser(grid).open(link)).status).toBe(400)
  expect(grid.emails.at(-1)).toMatchObject({ kind: 'password_changed', to: email })
  expect((await browser(grid).signIn(email, password)).status).toBe(401)
  expect((await browser(grid).signIn(email, next)).text).toContain('Acme')
})

test('changing the password requires the current one and ends the other sessions', async () => {
  const [one, other] = [await signedIn(grid, bob), await signedIn(grid, bob)]
  const cookie = one.cookies.get('grid-session')

  const wrong = await one.submit(profile, { current: 'not his', password: next }, `${profile}/password`)
  const right = await one.submit(profile, { current: password, password: next }, `${profile}/password`)

  expect(wrong.status).toBe(400)
  expect(wrong.html).toMatch(/id="current-error".*This is not your current password/)
  // Only the form that was refused is expanded.
  const open = /<details class="fold" open=""><summary>.*?<\/svg>(Change the \w+)/g
  expect([...wrong.html.matchAll(open)].map(([, title]) => title)).toEqual(['Change the password'])
  expect(right.html).not.toMatch(open)
  expect(right.at).toBe(`${profile}?done=password-changed`)
  expect(right.text).toContain('Programs that you authorized stay signed in')
  expect(right.html).toContain(`href="/accounts/${grid.acme.id}/settings/sessions">Sessions</a>`)
  expect(one.cookies.get('grid-session')).not.toBe(cookie)
  expect((await other.open(profile)).at).toMatch(/^\/sign-in/)
  expect(grid.emails.at(-1)).toMatchObject({ kind: 'password_changed', to: email })
  expect((await browser(grid).signIn(email, next)).text).toContain('Acme')
})

test('only the user of an email address can verify it', async () => {
  const carl = await person(grid, { role: 'member', email: 'carl@acme.example', isVerified: false })
  const one = await signedIn(grid, carl)
  expect((await one.open(profile)).text).toContain('not verified')
  await one.submit(profile, {}, `${profile}/verify`)
  const link = emailedPath(grid)
  const isVerified = async () => (await grid.store.global.users.byId(carl.id))!.emailVerifiedAt !== null

  expect((await browser(grid).open(link)).at).toBe(`/sign-in?next=${encodeURIComponent(link)}`)
  expect((await (await signedIn(grid, bob)).open(link)).status).toBe(403)
  expect(await isVerified()).toBe(false)
  const page = await one.submit(link, {})

  expect(page.text).toContain('Your email address is verified')
  expect(await isVerified()).toBe(true)
  expect((await one.open(link)).status).toBe(400)
})

test('a new email address takes effect when its link is opened, and the old address is notified', async () => {
  const one = await signedIn(grid, bob)
  await browser(grid).submit('/sign-in-link', { email })
  const oldLink = emailedPath(grid)
  const fields = { email: 'rob@acme.example', current: password }

  await one.submit(profile, fields, `${profile}/email`)
  const link = emailedPath(grid)
  expect(grid.emails.at(-1)).toMatchObject({ to: 'rob@acme.example' })
  expect((await one.open(profile)).text).toContain(email)
  expect((await (await signedIn(grid, await person(grid))).open(link)).status).toBe(403)
  const page = await one.submit(link, {})

  expect(page.text).toContain('Your email address has been changed')
  expect(grid.emails.at(-1)).toMatchObject({ kind: 'address_changed', to: email })
  expect((await browser(grid).open(oldLink)).status).toBe(400)
  expect((await browser(grid).signIn(email, password)).status).toBe(401)
  expect((await browser(grid).signIn('rob@acme.example', password)).text).toContain('Acme')
})

test('changing to a taken email address gets the same response as to a free one, but sends no link', async () => {
  const one = await signedIn(grid, bob)
  const ask = (email: string) => one.submit(profile, { email, current: password }, `${profile}/email`)

  const taken = await ask('ann@acme.example')
  const free = await ask('rob@acme.example')

  expect(taken.html).toBe(free.html)
  expect(grid.emails.map(({ to }) => to)).toEqual(['rob@acme.example'])
})
