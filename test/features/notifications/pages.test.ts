/** The page where a person turns notifications on and off, and the files for the browser. */
import { followLog } from '../../../src/worker/followers.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { chooseAlias } from '../../../src/grid/people/person-aliases.ts'
import { setMemberRole } from '../../../src/grid/people/team.ts'
import { createKeyRing, newKeyRing } from '../../../src/lib/key-ring.ts'
import type { Browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { type Person, person, signedIn } from '../../support/people.ts'
import { type PushService, startPushService } from '../../support/push-service.ts'

let grid: TestGrid
let service: PushService
let user: Person
let ann: Browser
let path: string
beforeEach(async () => {
  grid = await testGrid({ env: { ALLOW_PRIVATE_TARGETS: '1' } })
  service = await startPushService()
  user = await person(grid, { role: 'member', email: 'ann@people.example' })
  await chooseAlias(grid.store.account(grid.acme.id, user.actor('member')), { alias: 'ann-lee' })
  ann = await signedIn(grid, user)
  path = `/accounts/${grid.acme.id}/settings/notifications`
})
afterEach(async () => {
  await service.close()
})

const subscribe = async (browser = ann, at = '/browser', page = path) => {
  const { userAgent: _, ...fields } = service.subscription(at)
  return await browser.submit(page, fields, `${page}/browsers`)
}
const stored = (columns: string, table = 'push_subscriptions') =>
  rows(grid, `SELECT ${columns} FROM ${table} WHERE account_id = ?`, [grid.acme.id])
const browsers = async () =>
  (await stored('endpoint')).map(({ endpoint }) => String(endpoint).replace(service.url, '')).sort()
const digests = async () => (await stored('period', 'mail_digests')).map(({ period }) => period)
const csrfOf = async (browser: Browser) => (await browser.open(path)).html.match(/name="csrf" value="([^"]+)"/)![1]

test('a person can turn on, test and turn off notifications in a browser', async () => {
  const page = await ann.open(path)
  expect(page.html).toMatch(/data-push="B[\w-]{86}"/)
  expect(page.html).not.toContain(`${path}/test`)
  const [, tabs] = page.html.match(/aria-label="Settings">(.*?)<\/nav>/)!
  expect(tabs.replace(/<[^>]+>/g, ' ')).toMatch(/Profile\s+Notifications\s+Security/)

  expect((await subscribe()).at).toBe(`${path}?done=browser-on`)
  expect((await ann.open(path)).html).toMatch(/>this browser</)
  expect((await (await signedIn(grid, user)).open(path)).html).not.toMatch(/>this browser</)
  expect((await ann.submit(path, {}, `${path}/test`)).at).toBe(`${path}?done=test-sent`)
  expect(service.taken.map(({ shown }) => shown)).toEqual([
    { title: 'It works', body: 'You are notified of messages to you in Acme.', tag: 'test', path },
  ])
  const [key] = await rows(grid, 'SELECT public_key FROM push_keys')
  expect(page.html).toContain(`data-push="${key.public_key}"`)
  expect(service.taken[0].publicKey).toBe(key.public_key)

  service.answers.push({ status: 500 })
  const failed = await ann.submit(path, {}, `${path}/test`)
  expect(failed.at).toBe(`${path}?done=test-failed`)
  expect(failed.html).toContain('class="notice warning"')
  const [{ id }] = await stored('id')
  await ann.submit(path, {}, `${path}/browsers/${id}/remove`)
  expect(await browsers()).toEqual([])
})

test('a new push key is created when the old one can no longer be decrypted', async () => {
  const keyOf = async () => (await ann.open(path)).html.match(/data-push="([^"]+)"/)![1]
  const first = await keyOf()
  expect(await keyOf()).toBe(first)
  const another = Object.getOwnPropertyDescriptors(createKeyRing(newKeyRing()))
  Object.defineProperties(grid.store.keyRing, another)

  const second = await keyOf()
  expect(second).not.toBe(first)
  await subscribe()
  await ann.submit(path, {}, `${path}/test`)
  expect(service.taken[0].publicKey).toBe(second)
})

test('a person can register 10 browsers, and the number of tests is limited', async () => {
  for (let n = 0; n < 10; n++) await subscribe(ann, `/${n}`)
  expect(await subscribe(ann, '/10')).toMatchObject({
    status: 400,
    text: expect.stringContaining('at most 10 browsers'),
  })
  // A browser that is already registered does not count again.
  expect((await subscribe(ann, '/9')).at).toBe(`${path}?done=browser-on`)
  for (let n = 0; n < 5; n++) await ann.submit(path, {}, `${path}/test`)

  expect(await ann.submit(path, {}, `${path}/test`)).toMatchObject({
    status: 429,
    text: expect.stringContaining('Too many tests.'),
  })
  expect(service.taken.length).toBe(50)
})

test.each([
  ['no address', { endpoint: '' }],
  ['an address that may not be called', { endpoint: 'http://169.254.169.254/latest' }],
  ['a short key', { p256dh: 'BAAA' }],
  ['a long secret', { auth: 'A'.repeat(23) }],
])('the page refuses a subscription with %s', async (_, changed) => {
  const { userAgent: __, ...fields } = { ...service.subscription(), ...changed }
  const refused = await ann.submit(path, fields, `${path}/browsers`)

  expect(refused).toMatchObject({
    status: 400,
    text: expect.stringContaining('This grid cannot use the push service of this browser'),
  })
  expect(await browsers()).toEqual([])
})

test.each<[string, string[], (other: Browser) => Promise<unknown>]>([
  ['its user signs out in it', ['/other'], () => ann.submit(path, {}, '/sign-out')],
  ['its user ends all other sessions', ['/other'], (other) => {
    const sessions = `/accounts/${grid.acme.id}/settings/sessions`
    return other.submit(sessions, {}, `${sessions}/end-others`)
  }],
  ['its session is removed', ['/other'], async () => {
    const [first] = await stored('session_id')
    await rows(grid, 'DELETE FROM sessions WHERE id = ?', [String(first.session_id)])
  }],
  ['its user becomes a viewer', [], () => setMemberRole(grid.acme.store, { userId: user.id, role: 'viewer' })],
])('a browser is no longer notified when %s', async (_, left, end) => {
  const other = await signedIn(grid, user)
  await subscribe()
  await subscribe(other, '/other')
  await ann.submit(path, { period: 'daily' }, `${path}/digest`)
  expect(await browsers()).toEqual(['/browser', '/other'])
  await end(other)
  await followLog(grid.store)

  expect(await browsers()).toEqual(left)
  expect((await digests()).length).toBe(left.length)
})

test('a browser belongs to one user, and to the session that registered it last', async () => {
  await subscribe()
  const renew = async (browser: Browser) => {
    const fields = { csrf: await csrfOf(browser), endpoint: service.subscription().endpoint }
    return (await browser.post('/notifications/renew', fields)).status
  }
  const again = await signedIn(grid, user)
  expect(await renew(again)).toBe(204)
  await ann.submit(path, {}, '/sign-out')
  expect(await browsers()).toEqual(['/browser'])

  const other = await person(grid, { role: 'member' })
  await chooseAlias(grid.store.account(grid.acme.id, other.actor('member')), { alias: 'bea-lee' })
  const bea = await signedIn(grid, other)
  expect(await renew(bea)).toBe(404)
  await subscribe(bea)
  expect(await stored('user_id')).toEqual([{ user_id: other.id }])
  await again.submit(path, {}, '/sign-out')
  expect(await browsers()).toEqual(['/browser'])
})

test("a person cannot change another person's notifications", async () => {
  await subscribe()
  const [{ id }] = await stored('id')
  const owner = await signedIn(grid, await person(grid, { role: 'owner' }))
  const csrf = await csrfOf(owner)

  expect((await owner.post(`${path}/browsers/${id}/remove`, { csrf })).status).toBe(404)
  expect(await browsers()).toEqual(['/browser'])
})

test('digests are off by default, and the link in a digest turns them off without a sign-in', async () => {
  expect((await ann.open(path)).html).toMatch(/value="off" checked/)
  expect((await ann.submit(path, { period: 'daily' }, `${path}/digest`)).at).toBe(`${path}?done=digest-on`)
  expect((await ann.open(path)).html).toMatch(/value="daily" checked/)
  const [{ token }] = await stored('token', 'mail_digests')
  const opened = await grid.request(`/unsubscribe/${token}`)
  expect(opened.status).toBe(200)
  expect(await digests()).toEqual(['daily'])

  // An email program's request, without an Origin and without cookies.
  const oneClick = async (at: string) =>
    (await grid.request(`/unsubscribe/${at}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: 'List-Unsubscribe=One-Click',
    })).status
  expect(await oneClick('another')).toBe(200)
  expect(await digests()).toEqual(['daily'])
  expect(await oneClick(String(token))).toBe(200)
  expect(await digests()).toEqual([])
})

test('the service worker and the manifest are public, revalidated by browsers, and cannot load anything', async () => {
  const worker = await grid.request('/sw.js')
  expect(Object.fromEntries(worker.headers)).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'content-security-policy': "default-src 'none'",
    'cache-control': 'no-cache',
  })
  const manifest = await (await grid.request('/manifest.webmanifest')).json()
  expect(manifest).toMatchObject({ display: 'standalone', start_url: '/', scope: '/' })
  expect((await grid.request(manifest.icons[0].src)).headers.get('content-type')).toBe('image/svg+xml; charset=utf-8')
  const page = await ann.open(path)
  expect(page.headers.get('content-security-policy')).toContain("; worker-src 'self'")
  expect(page.html).toContain('<link rel="manifest" href="/manifest.webmanifest"/>')
})
