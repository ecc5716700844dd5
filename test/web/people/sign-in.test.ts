import { beforeAll, describe, expect, test } from 'vitest'
import { sessionIdleMs, sessionLifetimeMs } from '../../../src/auth/session.ts'
import { createAccount } from '../../../src/grid/accounts/accounts.ts'
import { createSetUpLink } from '../../../src/grid/people/people.ts'
import { day, minute } from '../../../src/lib/time.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { emptyGrid, type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf } from '../../support/people.ts'

const password = 'correct horse battery'

test('the set-up link creates the first account, and works once', async () => {
  const grid = await emptyGrid()
  const path = new URL((await createSetUpLink(grid.store))!).pathname
  const form = { accountName: 'Acme', name: 'Ann', email: 'Ann@Acme.example', password }

  const page = await browser(grid).submit(path, form)

  expect(page.status).toBe(200)
  expect(page.at).toMatch(/^\/accounts\//)
  expect(page.text).toContain('Acme')
  const again = await browser(grid).open(path)
  expect([again.status, again.text]).toEqual([400, expect.stringContaining('This grid is set up')])
  expect(await createSetUpLink(grid.store)).toBeUndefined()
  expect((await browser(grid).signIn('ann@acme.example', password)).text).toContain('Acme')
})

test('after the command line has created an account, a set-up link says so and leads to the sign-in', async () => {
  const grid = await emptyGrid()
  const path = new URL((await createSetUpLink(grid.store))!).pathname
  const visitor = browser(grid)
  await visitor.open(path)
  const csrf = (await visitor.open(path)).html.match(/name="csrf" value="([^"]+)"/)![1]
  await createAccount(grid.store, { name: 'Acme', ownerEmail: 'ann@acme.example' }, { type: 'system', job: 'test' })
  const form = { csrf, accountName: 'Acme', name: 'Ann', email: 'ann@acme.example', password }

  for (const page of [await visitor.open(path), await visitor.post(path, form)]) {
    expect([page.status, page.text]).toEqual([400, expect.stringContaining('create-account made an account')])
    expect(page.html).toContain('href="/sign-in"')
  }
})

test('a new set-up link replaces the old one, and expires after a day', async () => {
  const grid = await emptyGrid()
  const first = new URL((await createSetUpLink(grid.store))!).pathname
  const second = new URL((await createSetUpLink(grid.store))!).pathname

  const ended = await browser(grid).open(first)
  expect([ended.status, ended.text]).toEqual([
    400,
    expect.stringContaining('Open the link that the last start printed'),
  ])
  expect((await browser(grid).open(second)).status).toBe(200)
  grid.clock.now += day
  expect((await browser(grid).open(second)).status).toBe(400)
})

test('two concurrent set-ups create one account', async () => {
  const grid = await emptyGrid()
  const path = new URL((await createSetUpLink(grid.store))!).pathname
  const form = (email: string) => ({ accountName: 'Acme', name: 'Ann', email, password })

  const pages = await Promise.all([
    browser(grid).submit(path, form('ann@acme.example')),
    browser(grid).submit(path, form('ed@evil.example')),
  ])

  expect(pages.map(({ status }) => status).sort()).toEqual([200, 400])
})

let grid: TestGrid
beforeAll(async () => {
  grid = await testGrid()
  await grid.setPassword('ann@acme.example', password)
})

test('signing in leads to the requested page', async () => {
  const path = arrivalOf(grid.acme)
  const ann = browser(grid)

  const asked = await ann.open(path)
  const page = await ann.submit(asked.at, { email: ' ANN@acme.example ', password }, '/sign-in')

  expect(asked.at).toBe(`/sign-in?next=${encodeURIComponent(path)}`)
  expect(page.at).toBe(path)
})

test.each([
  '//evil.example',
  '/\\evil.example',
  'https://evil.example',
  '/\t/evil.example',
  'javascript:alert(1)',
  '/%0d%0aX: y',
  '',
])('next=%j never leads to another host', async (next) => {
  const response = await browser(grid).submit(`/sign-in?next=${encodeURIComponent(next)}`, {
    email: 'ann@acme.example',
    password,
  }, '/sign-in')

  expect(response.at).toMatch(/^\/(accounts\/|%0d)/)
})

test('too many sign-in attempts get a retry time, equally for known and unknown addresses', async () => {
  const answers = []
  for (const address of ['ann@acme.example', 'nobody@acme.example']) {
    const one = browser(grid, '198.51.100.2')
    const pages = []
    for (let n = 0; n < 8; n++) pages.push(await one.signIn(address, 'wrong password'))
    answers.push(pages.map(({ status, headers, text }) => [status, headers.get('retry-after'), text]))
  }

  expect(answers[1]).toEqual(answers[0])
  expect(answers[0][0]).toEqual([401, null, expect.stringContaining('The email address or the password is wrong.')])
  expect(answers[0].at(-1)).toEqual([429, expect.stringMatching(/^\d+$/), expect.stringContaining('Try again in')])
})

test('signing in does not adopt an existing session cookie', async () => {
  const planted = 'x'.repeat(43)
  const [one, thief] = [browser(grid), browser(grid)]
  for (const each of [one, thief]) each.cookies.set('grid-session', planted)

  await one.signIn('ann@acme.example', password)

  expect(one.cookies.get('grid-session')).not.toBe(planted)
  expect((await one.open('/')).at).toMatch(/^\/accounts\//)
  expect((await thief.open(`/accounts/${grid.acme.id}`)).at).toMatch(/^\/sign-in/)
})

test("another user's account looks exactly like one that does not exist", async () => {
  const ann = browser(grid)
  await ann.signIn('ann@acme.example', password)

  const foreign = await ann.open(`/accounts/${grid.evil.id}`)
  const missing = await ann.open('/accounts/01999999-9999-7999-8999-999999999999')

  expect(foreign.status).toBe(404)
  expect(foreign.html).toBe(missing.html)
})

test('signing out ends the session, even for a copy of the cookie', async () => {
  const ann = browser(grid)
  await ann.signIn('ann@acme.example', password)
  const thief = browser(grid)
  for (const [name, value] of ann.cookies) thief.cookies.set(name, value)
  const path = arrivalOf(grid.acme)
  expect((await thief.open(path)).at).toBe(path)

  await ann.submit(path, {}, '/sign-out')

  expect((await thief.open(path)).at).toMatch(/^\/sign-in/)
})

test('a session ends after 12 idle hours, and after 14 days at the latest', async () => {
  const grid = await testGrid()
  await grid.setPassword('ann@acme.example', password)
  const path = arrivalOf(grid.acme)
  const [idle, busy] = [browser(grid), browser(grid)]
  const start = grid.clock.now
  await idle.signIn('ann@acme.example', password)
  await busy.signIn('ann@acme.example', password)
  const stays = async (client: typeof busy, at: number) => {
    grid.clock.now = at
    const { status } = await client.request(path)
    // Wait for `last_seen_at`, which is written in the background.
    await rows(grid, 'SELECT 1')
    return status === 200
  }

  expect(await stays(idle, start + sessionIdleMs - 1)).toBe(true)
  expect(await stays(idle, start + 2 * sessionIdleMs - 1)).toBe(false)
  for (let at = start; at < start + sessionLifetimeMs; at += sessionIdleMs - minute) {
    expect(await stays(busy, at)).toBe(true)
  }
  expect(await stays(busy, start + sessionLifetimeMs - 1)).toBe(true)
  expect(await stays(busy, start + sessionLifetimeMs)).toBe(false)
})

const forgeries: [string, Record<string, string | undefined>, Record<string, string>][] = [
  ['no Origin', { Origin: undefined }, {}],
  ['an empty Origin', { Origin: '' }, {}],
  ['the Origin null of a sandbox', { Origin: 'null' }, {}],
  ['a foreign Origin', { Origin: 'http://evil.example' }, {}],
  ['another loopback port as Origin', { Origin: 'http://localhost:1' }, {}],
  ['a cross-site fetch', { 'Sec-Fetch-Site': 'cross-site' }, {}],
  ['a same-site fetch', { 'Sec-Fetch-Site': 'same-site' }, {}],
  ['no token', {}, { csrf: '' }],
  ['a foreign token', {}, { csrf: 'x'.repeat(43) }],
]
// A public grid accepts API calls from every origin, so the form itself must refuse foreign ones.
describe.each([['local', {}], ['public', { BASE_URL: 'https://grid.example' }]])('on a %s grid', (_, env) => {
  let grid: TestGrid
  let ann: Browser
  let csrf: string
  beforeAll(async () => {
    grid = await testGrid({ env })
    await grid.setPassword('ann@acme.example', password)
    ann = browser(grid)
    await ann.signIn('ann@acme.example', password)
    csrf = (await ann.open(`/accounts/${grid.acme.id}`)).html.match(/name="csrf" value="([^"]+)"/)![1]
  })

  test.each(forgeries)('a form with %s is refused and does nothing', async (_, headers, fields) => {
    const refused = await ann.post('/sign-out', { csrf, ...fields }, headers)

    expect(refused.status).toBe(403)
    expect((await ann.request(arrivalOf(grid.acme))).status).toBe(200)
  })
})

test('JSON, and a form of another session, are refused', async () => {
  const [ann, other] = [browser(grid), browser(grid)]
  await ann.signIn('ann@acme.example', password)
  await other.signIn('ann@acme.example', password)
  const csrf = (await other.open(`/accounts/${grid.acme.id}`)).html.match(/name="csrf" value="([^"]+)"/)![1]

  expect((await ann.post('/sign-out', { csrf })).status).toBe(403)
  expect((await ann.post('/sign-out', { csrf }, { 'Content-Type': 'application/json' })).status).toBe(415)
})

test('a sign-in form is bound to the browser that opened it', async () => {
  const page = await browser(grid).open('/sign-in')
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]

  const forged = await browser(grid).post('/sign-in', { csrf, email: 'ann@acme.example', password })

  expect(forged.status).toBe(403)
})

test.each([
  ['every address is HTTPS', { BASE_URL: 'https://grid.example' }, true],
  ['only the web address is HTTPS', { BASE_URL: 'http://10.0.0.5:8787', APP_URL: 'https://grid.example' }, true],
  ['only the API address is HTTPS', { BASE_URL: 'https://api.example', APP_URL: 'http://grid.example' }, false],
])('if %s, cookies are Secure and bound to the host: %o', async (_, env, isSecure) => {
  const grid = await testGrid({ env })

  const visit = await grid.request(`${grid.deps.config.appUrl}/sign-in`)

  const [name, flag] = isSecure ? ['__Host-grid-visit', ' Secure;'] : ['grid-visit', '']
  expect(visit.headers.get('set-cookie')).toMatch(
    new RegExp(`^${name}=\\w{43}; Path=/; HttpOnly;${flag} SameSite=Lax$`),
  )
})
