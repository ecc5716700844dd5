/** Email links to sign in or to reset a password: the recipients and the effects. */
import { beforeEach, expect, test } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, csrfTokenOf, emailedPath, person } from '../../support/people.ts'

const email = 'bob@acme.example'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  await person(grid, { role: 'member', email })
})

const kinds = [['/sign-in-link', 'sign_in'], ['/reset', 'password_reset']] as const

test.each(kinds)('%s gives the same response for known and unknown addresses', async (path, kind) => {
  const [known, unknown] = await Promise.all([email, 'nobody@acme.example'].map(async (email, n) => {
    const one = browser(grid, `203.0.113.${n + 20}`)
    const csrf = await csrfTokenOf(one, path)
    const answer = await one.request(path, {
      method: 'POST',
      headers: { 'Origin': grid.deps.config.appUrl, 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf, email }).toString(),
    })
    const headers = [...answer.headers].filter(([name]) => name !== 'x-request-id')
    return {
      status: answer.status,
      headers,
      body: await answer.text(),
      page: (await one.open(`${path}?done=link-sent`)).html,
    }
  }))

  expect(unknown).toEqual(known)
  expect(known.status).toBe(303)
  expect(known.page).toContain('If a user has this email address')
  expect(grid.emails).toMatchObject([{ kind, to: email }])
})

test.each(kinds)('%s does the same work for known and unknown addresses', async (path) => {
  const statements = async (email: string, address: string) => {
    const before = await count()
    await browser(grid, address).submit(path, { email })
    return (await count()).map((n, at) => n - before[at])
  }
  const count = async () =>
    await Promise.all(['links', 'attempts'].map(async (table) => {
      const [{ n }] = await rows(grid, `SELECT count(*) AS n FROM ${table}`)
      return Number(n)
    }))

  expect(await statements(email, '203.0.113.20')).toEqual(await statements('nobody@acme.example', '203.0.113.21'))
})

test('an address gets at most one email in 5 minutes and 3 a day, and the page does not reveal this', async () => {
  const texts = new Set<string>()
  for (let n = 0; n < 12; n++) {
    texts.add((await browser(grid, `203.0.113.${n}`).submit('/reset', { email })).text)
    grid.clock.now += 3 * minute
  }

  expect(texts.size).toBe(1)
  expect(grid.emails).toHaveLength(3)
  expect((await rows(grid, 'SELECT count(*) AS n FROM links'))[0].n).toBe(3)
})

test('a sign-in link is redeemed by its button once, and not by an email scanner that opens it', async () => {
  const path = arrivalOf(grid.acme)
  await browser(grid).submit(`/sign-in-link?next=${encodeURIComponent(path)}`, { email }, '/sign-in-link')
  const link = emailedPath(grid)
  for (let times = 0; times < 5; times++) expect((await browser(grid).open(link)).text).toContain(`As ${email}`)

  const one = browser(grid)
  const action = link.split('?')[0]
  const page = await one.submit(link, {}, action)

  expect(page.at).toBe(path)
  expect((await browser(grid).open(link)).status).toBe(400)
  expect((await browser(grid).post(action, { csrf: 'x' })).status).toBe(403)
  const other = browser(grid)
  expect((await other.post(action, { csrf: await csrfTokenOf(other, '/sign-in') })).status).toBe(400)
})

test.each(['/Your-account-was-stolen', '/accounts/?call=me', 'https://evil.example', `/claim/${'a'.repeat(44)}`])(
  'next=%s is not included in an email',
  async (next) => {
    await browser(grid).submit(`/sign-in-link?next=${encodeURIComponent(next)}`, { email }, '/sign-in-link')

    expect(emailedPath(grid)).toMatch(/^\/sign-in-link\/\w{43}$/)
  },
)

test('signing in by email during an OAuth authorization continues the authorization', async () => {
  const authorizePath = '/oauth/authorize?client_id=none&state=x%20y'
  const one = browser(grid)

  const sent = await one.submit(`/sign-in-link?next=${encodeURIComponent(authorizePath)}`, { email }, '/sign-in-link')
  const onward = sent.html.match(/<a href="([^"]+)">continue here/)![1].replaceAll('&amp;', '&')
  await one.submit(emailedPath(grid), {})

  expect(onward).toBe(authorizePath)
  expect((await one.open(onward)).text).toContain('This client is unknown')
  expect((await one.open('/sign-in-link?done=link-sent&next=https://evil.example')).html).not.toContain('continue here')
})

test('a sign-in link expires after 15 minutes, and verifies the address', async () => {
  const carl = await person(grid, { role: 'member', email: 'carl@acme.example', isVerified: false, hasPassword: false })
  const ask = () => browser(grid).submit('/sign-in-link', { email: carl.email })
  await ask()
  const late = emailedPath(grid)
  grid.clock.now += 15 * minute
  expect((await browser(grid).open(late)).status).toBe(400)

  await ask()
  await browser(grid).submit(emailedPath(grid), {})

  expect((await grid.store.global.users.byId(carl.id))!.emailVerifiedAt).toBe(grid.clock.now)
})

test('only one of many concurrent uses of a sign-in link succeeds', async () => {
  await browser(grid).submit('/sign-in-link', { email })
  const link = emailedPath(grid)

  const waiting = await Promise.all(Array.from({ length: 8 }, async () => {
    const one = browser(grid)
    const csrf = await csrfTokenOf(one, link)
    return () => one.post(link, { csrf })
  }))

  const pages = await Promise.all(waiting.map((press) => press()))

  expect(pages.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400])
})
