import { afterEach, beforeEach, expect, test } from 'vitest'
import { hour, minute } from '../../../src/lib/time.ts'
import { browser, type Page } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { emailedPath, password, type Person, person, signedIn } from '../../support/people.ts'

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
afterEach(() => grid.close())

const kinds = [['/sign-in-link', 'sign_in'], ['/reset', 'password_reset']] as const
const csrfOf = ({ html }: Page) => html.match(/name="csrf" value="([^"]+)"/)![1]
/** Advance past the limit of emails to one address. */
const later = () => grid.clock.now += 6 * minute

test.each(kinds)('%s answers the same for known and unknown addresses', async (path, kind) => {
  const [known, unknown] = await Promise.all([email, 'nobody@acme.example'].map(async (email, n) => {
    const one = browser(grid, `203.0.113.${n + 20}`)
    const csrf = csrfOf(await one.open(path))
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

test('an address gets at most one email in 5 minutes and 3 a day, and the page does not show it', async () => {
  const texts = new Set<string>()
  for (let n = 0; n < 12; n++) {
    texts.add((await browser(grid, `203.0.113.${n}`).submit('/reset', { email })).text)
    grid.clock.now += 3 * minute
  }

  expect(texts.size).toBe(1)
  expect(grid.emails).toHaveLength(3)
  expect((await rows(grid, 'SELECT count(*) AS n FROM links'))[0].n).toBe(3)
})

test('an email scanner does not redeem the sign-in link; the button does, once', async () => {
  const path = `/accounts/${grid.acme.id}`
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
  expect((await other.post(action, { csrf: csrfOf(await other.open('/sign-in')) })).status).toBe(400)
})

test.each(['/Your-account-was-stolen', '/accounts/?call=me', 'https://evil.example', `/claim/${'a'.repeat(44)}`])(
  'next=%s does not get into an email',
  async (next) => {
    await browser(grid).submit(`/sign-in-link?next=${encodeURIComponent(next)}`, { email }, '/sign-in-link')

    expect(emailedPath(grid)).toMatch(/^\/sign-in-link\/\w{43}$/)
  },
)

test('signing in by email during an OAuth authorization continues with the authorization', async () => {
  const authorizePath = '/oauth/authorize?client_id=none&state=x%20y'
  const one = browser(grid)

  const sent = await one.submit(`/sign-in-link?next=${encodeURIComponent(authorizePath)}`, { email }, '/sign-in-link')
  const onward = sent.html.match(/<a href="([^"]+)">continue here/)![1].replaceAll('&amp;', '&')
  await one.submit(emailedPath(grid), {})

  expect(onward).toBe(authorizePath)
  expect((await one.open(onward)).text).toContain('This client is unknown')
  expect((await one.open('/sign-in-link?done=link-sent&next=https://evil.example')).html).not.toContain('continue here')
})

test('a sign-in link ends after 15 minutes, and verifies the address', async () => {
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

test('of many concurrent uses of a link, one is signed in', async () => {
  await browser(grid).submit('/sign-in-link', { email })
  const link = emailedPath(grid)

  const waiting = await Promise.all(Array.from({ length: 8 }, async () => {
    const one = browser(grid)
    const csrf = csrfOf(await one.open(link))
    return () => one.post(link, { csrf })
  }))

  const pages = await Promise.all(waiting.map((press) => press()))

  expect(pages.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400])
})

test('a password reset ends every session and every link of the user, and an email reports it', async () => {
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
  expect(page.at).toBe(`/accounts/${grid.acme.id}?done=password-reset`)
  expect(page.text).toContain('programs can no longer act for you')
  expect((await before.open(profile)).at).toMatch(/^\/sign-in/)
  expect((await browser(grid).open(signInLink)).status).toBe(400)
  expect((await browser(grid).open(link)).status).toBe(400)
  expect(grid.emails.at(-1)).toMatchObject({ kind: 'password_changed', to: email })
  expect((await browser(grid).signIn(email, password)).status).toBe(401)
  expect((await browser(grid).signIn(email, next)).text).toContain('Acme')
})

test('changing the password needs the current one, and ends the other sessions', async () => {
  const [one, other] = [await signedIn(grid, bob), await signedIn(grid, bob)]
  const cookie = one.cookies.get('grid-session')

  const wrong = await one.submit(profile, { current: 'not his', password: next }, `${profile}/password`)
  const right = await one.submit(profile, { current: password, password: next }, `${profile}/password`)

  expect(wrong.status).toBe(400)
  expect(wrong.html).toMatch(/id="current-error".*This is not your current password/)
  expect(right.at).toBe(`${profile}?done=password-changed`)
  expect(right.text).toContain('Programs that you authorized stay signed in')
  expect(right.html).toContain(`href="/accounts/${grid.acme.id}/settings/sessions">Sessions</a>`)
  expect(one.cookies.get('grid-session')).not.toBe(cookie)
  expect((await other.open(profile)).at).toMatch(/^\/sign-in/)
  expect(grid.emails.at(-1)).toMatchObject({ kind: 'password_changed', to: email })
  expect((await browser(grid).signIn(email, next)).text).toContain('Acme')
})

test('guesses of the current password in an open session are limited like sign-ins', async () => {
  const one = await signedIn(grid, bob)
  const answers = []
  for (let n = 0; n < 12; n++) {
    answers.push((await one.submit(profile, { current: `guess ${n}`, password: next }, `${profile}/password`)).status)
  }

  expect(answers.filter((status) => status === 400).length).toBeLessThanOrEqual(10)
  expect(answers.at(-1)).toBe(429)
})

test('an address can be verified only by the user it belongs to', async () => {
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

test('beyond the email limit, the verification page says when to try again', async () => {
  const carl = await person(grid, { role: 'member', email: 'carl@acme.example', isVerified: false })
  const one = await signedIn(grid, carl)
  await one.submit(profile, {}, `${profile}/verify`)
  const link = emailedPath(grid)

  const page = await one.submit(profile, {}, `${profile}/verify`)

  expect(page.status).toBe(429)
  expect(page.text).toContain('Too many emails were sent. Try again in 5 minutes.')
  expect(grid.emails).toHaveLength(1)
  expect((await one.submit(link, {})).text).toContain('Your email address is verified')
})

test('a new address takes effect when its link is opened, and the old address is notified', async () => {
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

test('a taken address gets the same response as a free one, and no link', async () => {
  const one = await signedIn(grid, bob)
  const ask = (email: string) => one.submit(profile, { email, current: password }, `${profile}/email`)

  const taken = await ask('ann@acme.example')
  const free = await ask('rob@acme.example')

  expect(taken.html).toBe(free.html)
  expect(grid.emails.map(({ to }) => to)).toEqual(['rob@acme.example'])
})

test('without an SMTP server the pages say where the link is', async () => {
  Object.assign(grid.deps.email, { isConfigured: false })

  for (const path of ['/sign-in-link', '/reset']) {
    expect((await browser(grid).submit(path, { email })).text).toContain('This grid does not send email')
  }
  const one = await signedIn(grid, await person(grid, { role: 'owner' }))
  for (const tab of ['profile', 'team']) {
    expect((await one.open(`/accounts/${grid.acme.id}/settings/${tab}`)).text).toContain(
      'This grid does not send email',
    )
  }
})

test('of 1,000 guesses at most 10 are checked, and the owner can sign in from another address', async () => {
  const thief = browser(grid, '198.51.100.1')
  const csrf = csrfOf(await thief.open('/sign-in'))
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
