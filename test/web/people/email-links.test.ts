import { afterEach, beforeEach, expect, test } from 'vitest'
import { hour, minute } from '../../../src/lib/time.ts'
import { browser, type Page } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { mailedPath, password, type Person, person, signedIn } from '../../support/people.ts'

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
/** Past the limit of mails to one address. */
const later = () => grid.clock.now += 6 * minute

test.each(kinds)('E1: %s answers the same for known and unknown addresses', async (path, kind) => {
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
  expect(known.page).toContain('If this address has a user here')
  expect(grid.mails).toMatchObject([{ kind, to: email }])
})

test.each(kinds)('E1: %s does the same work for known and unknown addresses', async (path) => {
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

test('A1: one address gets one mail in 5 minutes and 3 a day, and nobody learns it', async () => {
  const texts = new Set<string>()
  for (let n = 0; n < 12; n++) {
    texts.add((await browser(grid, `203.0.113.${n}`).submit('/reset', { email })).text)
    grid.clock.now += 3 * minute
  }

  expect(texts.size).toBe(1)
  expect(grid.mails).toHaveLength(3)
  expect((await rows(grid, 'SELECT count(*) AS n FROM links'))[0].n).toBe(3)
})

test('O15: a mail scanner does not use the sign-in link up; the button does, once', async () => {
  const path = `/accounts/${grid.acme.id}`
  await browser(grid).submit(`/sign-in-link?next=${encodeURIComponent(path)}`, { email }, '/sign-in-link')
  const link = mailedPath(grid)
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
  'next=%s does not get into a mail',
  async (next) => {
    await browser(grid).submit(`/sign-in-link?next=${encodeURIComponent(next)}`, { email }, '/sign-in-link')

    expect(mailedPath(grid)).toMatch(/^\/sign-in-link\/\w{43}$/)
  },
)

test('whoever signs in by mail on the way to let a program in goes on where they were', async () => {
  const wish = '/oauth/authorize?client_id=none&state=x%20y'
  const one = browser(grid)

  const sent = await one.submit(`/sign-in-link?next=${encodeURIComponent(wish)}`, { email }, '/sign-in-link')
  const onward = sent.html.match(/<a href="([^"]+)">go on here/)![1].replaceAll('&amp;', '&')
  await one.submit(mailedPath(grid), {})

  expect(onward).toBe(wish)
  expect((await one.open(onward)).text).toContain('This client is not known here')
  expect((await one.open('/sign-in-link?done=link-sent&next=https://evil.example')).html).not.toContain('go on here')
})

test('a sign-in link ends after 15 minutes, and verifies the address', async () => {
  const carl = await person(grid, { role: 'member', email: 'carl@acme.example', isVerified: false, hasPassword: false })
  const ask = () => browser(grid).submit('/sign-in-link', { email: carl.email })
  await ask()
  const late = mailedPath(grid)
  grid.clock.now += 15 * minute
  expect((await browser(grid).open(late)).status).toBe(400)

  await ask()
  await browser(grid).submit(mailedPath(grid), {})

  expect((await grid.store.global.users.byId(carl.id))!.emailVerifiedAt).toBe(grid.clock.now)
})

test('of many who press the button at once, one is signed in', async () => {
  await browser(grid).submit('/sign-in-link', { email })
  const link = mailedPath(grid)

  const waiting = await Promise.all(Array.from({ length: 8 }, async () => {
    const one = browser(grid)
    const csrf = csrfOf(await one.open(link))
    return () => one.post(link, { csrf })
  }))

  const pages = await Promise.all(waiting.map((press) => press()))

  expect(pages.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400, 400, 400, 400, 400])
})

test('a new password by link ends every session and every link of the person, and a mail says so', async () => {
  const before = await signedIn(grid, bob)
  await browser(grid).submit('/sign-in-link', { email })
  const signInLink = mailedPath(grid)
  later()
  await browser(grid).submit('/reset', { email })
  const link = mailedPath(grid)
  for (let times = 0; times < 5; times++) expect((await browser(grid).open(link)).status).toBe(200)

  const common = await browser(grid).submit(link, { password: 'password123' })
  const page = await browser(grid).submit(link, { password: next })

  expect(common.status).toBe(400)
  expect(common.html).toContain('password-error')
  expect(page.at).toBe(`/accounts/${grid.acme.id}?done=password-reset`)
  expect(page.text).toContain('no program acts for you any more')
  expect((await before.open(profile)).at).toMatch(/^\/sign-in/)
  expect((await browser(grid).open(signInLink)).status).toBe(400)
  expect((await browser(grid).open(link)).status).toBe(400)
  expect(grid.mails.at(-1)).toMatchObject({ kind: 'password_changed', to: email })
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
  expect(right.text).toContain('Programs that you let act for you stay signed in')
  expect(right.html).toContain(`href="/accounts/${grid.acme.id}/settings/sessions">Sessions</a>`)
  expect(one.cookies.get('grid-session')).not.toBe(cookie)
  expect((await other.open(profile)).at).toMatch(/^\/sign-in/)
  expect(grid.mails.at(-1)).toMatchObject({ kind: 'password_changed', to: email })
  expect((await browser(grid).signIn(email, next)).text).toContain('Acme')
})

test('whoever sits at an open browser guesses the password as slowly as at the sign-in', async () => {
  const one = await signedIn(grid, bob)
  const answers = []
  for (let n = 0; n < 12; n++) {
    answers.push((await one.submit(profile, { current: `guess ${n}`, password: next }, `${profile}/password`)).status)
  }

  expect(answers.filter((status) => status === 400).length).toBeLessThanOrEqual(10)
  expect(answers.at(-1)).toBe(429)
})

test('an address is verified by the person it belongs to, and by nobody else', async () => {
  const carl = await person(grid, { role: 'member', email: 'carl@acme.example', isVerified: false })
  const one = await signedIn(grid, carl)
  expect((await one.open(profile)).text).toContain('not verified')
  await one.submit(profile, {}, `${profile}/verify`)
  const link = mailedPath(grid)
  const isVerified = async () => (await grid.store.global.users.byId(carl.id))!.emailVerifiedAt !== null

  expect((await browser(grid).open(link)).at).toBe(`/sign-in?next=${encodeURIComponent(link)}`)
  expect((await (await signedIn(grid, bob)).open(link)).status).toBe(403)
  expect(await isVerified()).toBe(false)
  const page = await one.submit(link, {})

  expect(page.text).toContain('Your address is verified')
  expect(await isVerified()).toBe(true)
  expect((await one.open(link)).status).toBe(400)
})

test('beyond the limit of mails whoever wants to verify their address is told when', async () => {
  const carl = await person(grid, { role: 'member', email: 'carl@acme.example', isVerified: false })
  const one = await signedIn(grid, carl)
  await one.submit(profile, {}, `${profile}/verify`)
  const link = mailedPath(grid)

  const page = await one.submit(profile, {}, `${profile}/verify`)

  expect(page.status).toBe(429)
  expect(page.text).toContain('Too many mails were sent. Try again in 5 minutes.')
  expect(grid.mails).toHaveLength(1)
  expect((await one.submit(link, {})).text).toContain('Your address is verified')
})

test('another address is taken when its mailbox opened the link, and the old one is told', async () => {
  const one = await signedIn(grid, bob)
  await browser(grid).submit('/sign-in-link', { email })
  const oldLink = mailedPath(grid)
  const fields = { email: 'rob@acme.example', current: password }

  await one.submit(profile, fields, `${profile}/email`)
  const link = mailedPath(grid)
  expect(grid.mails.at(-1)).toMatchObject({ to: 'rob@acme.example' })
  expect((await one.open(profile)).text).toContain(email)
  expect((await (await signedIn(grid, await person(grid))).open(link)).status).toBe(403)
  const page = await one.submit(link, {})

  expect(page.text).toContain('Your address has been changed')
  expect(grid.mails.at(-1)).toMatchObject({ kind: 'address_changed', to: email })
  expect((await browser(grid).open(oldLink)).status).toBe(400)
  expect((await browser(grid).signIn(email, password)).status).toBe(401)
  expect((await browser(grid).signIn('rob@acme.example', password)).text).toContain('Acme')
})

test('an address that somebody has is answered like a free one, and gets no link', async () => {
  const one = await signedIn(grid, bob)
  const ask = (email: string) => one.submit(profile, { email, current: password }, `${profile}/email`)

  const taken = await ask('ann@acme.example')
  const free = await ask('rob@acme.example')

  expect(taken.html).toBe(free.html)
  expect(grid.mails.map(({ to }) => to)).toEqual(['rob@acme.example'])
})

test('without a mail server the pages say where the link is', async () => {
  Object.assign(grid.deps.mail, { isConfigured: false })

  for (const path of ['/sign-in-link', '/reset']) {
    expect((await browser(grid).submit(path, { email })).text).toContain('This grid sends no mail')
  }
  const one = await signedIn(grid, await person(grid, { role: 'owner' }))
  for (const tab of ['profile', 'team']) {
    expect((await one.open(`/accounts/${grid.acme.id}/settings/${tab}`)).text).toContain('This grid sends no mail')
  }
})

test('A5: of 1,000 guesses 10 are tried at most, and the owner signs in from elsewhere', async () => {
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

test('too many attempts say when to come again, for known and unknown addresses alike', async () => {
  const answers = []
  for (const who of [email, 'nobody@acme.example']) {
    const one = browser(grid, '198.51.100.2')
    const pages = []
    for (let n = 0; n < 8; n++) pages.push(await one.signIn(who, 'wrong password'))
    answers.push(pages.map(({ status, headers, text }) => [status, headers.get('retry-after'), text]))
  }

  expect(answers[1]).toEqual(answers[0])
  expect(answers[0].at(-1)).toEqual([429, expect.stringMatching(/^\d+$/), expect.stringContaining('Try again in')])
})

test('a session that was planted before signing in is not the one after it', async () => {
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
