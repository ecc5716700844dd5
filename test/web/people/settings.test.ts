import { beforeEach, expect, test } from 'vitest'
import { type Browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { csrfTokenOf, type Person, person, signedIn } from '../../support/people.ts'

let grid: TestGrid
let owner: Person
let olga: Browser
let settings: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  owner = await person(grid, { role: 'owner', email: 'olga@acme.example', name: 'Olga' })
  olga = await signedIn(grid, owner)
  settings = `/accounts/${grid.acme.id}/settings`
})

const keyPattern = /grid_adm_[0-9A-Za-z]{49}/g
const generate = (name: string) => olga.submit(`${settings}/account/keys`, { name })

test('a new admin key appears only in its response, and never in a log or on another page', async () => {
  const [key] = (await generate('secret')).html.match(keyPattern)!
  const secret = key.slice('grid_adm_'.length, -6)

  const log = await grid.acme.store.read.activity.list()
  const pages = await Promise.all(
    ['profile', 'account', 'account/keys', 'team', 'sessions'].map((tab) => olga.open(`${settings}/${tab}`)),
  )

  expect(log[0]).toMatchObject({ tool: 'create_admin_key', outcome: 'ok', userId: owner.id, credentialKind: 'session' })
  expect(JSON.parse(log[0].arguments)).toEqual({ name: 'secret' })
  for (const text of [JSON.stringify(log), grid.logs.join(), ...pages.map(({ html }) => html)]) {
    expect(text).not.toContain(secret)
  }
})

test('a refused attempt to create an admin key is in the activity log', async () => {
  const viewer = await person(grid, { role: 'viewer' })
  const one = await signedIn(grid, viewer)
  const csrf = await csrfTokenOf(one, `${settings}/sessions`)

  expect((await one.post(`${settings}/account/keys`, { csrf, name: 'mine' })).status).toBe(403)

  const [row] = await grid.acme.store.read.activity.list()
  expect(row).toMatchObject({ tool: 'create_admin_key', outcome: 'not_allowed', userId: viewer.id })
})

test.each(['\u202eEvil', 'Ac\u200bme', 'Acme\nAdmin', 'Acme\u{e0041}'])(
  'the deceptive account name %j is refused',
  async (name) => {
    const page = await olga.submit(`${settings}/account/name`, { name })

    expect(page.status).toBe(400)
    expect(page.html).toMatch(/id="name-error".*must not contain control or invisible/)
  },
)

test("a user's sessions are listed with the current one marked, and can be ended one by one or together", async () => {
  const [phone, laptop] = [await signedIn(grid, owner, '192.0.2.7'), await signedIn(grid, owner)]
  const at = `${settings}/sessions`
  const page = await olga.open(at)
  expect(page.text.match(/this browser/g)).toHaveLength(1)
  expect(page.text).toContain('192.0.2.7')

  const [row] = await rows(grid, "SELECT id FROM sessions WHERE address = '192.0.2.7'")
  await olga.submit(at, {}, `${at}/${row.id}/end`)
  expect((await phone.open(at)).at).toMatch(/^\/sign-in/)
  expect((await laptop.open(at)).at).toBe(at)

  await olga.submit(at, {}, `${at}/end-others`)
  expect((await laptop.open(at)).at).toMatch(/^\/sign-in/)
  expect((await olga.open(at)).text).not.toContain('End all other sessions')

  const [own] = await rows(grid, 'SELECT id FROM sessions WHERE ended_at IS NULL')
  await olga.submit(at, {}, `${at}/${own.id}/end`)
  expect((await olga.open(at)).at).toMatch(/^\/sign-in/)
})

test('a theme can be chosen for a browser, and reset', async () => {
  const themeOf = (html: string) => html.match(/<html[^>]*data-theme="(\w+)"/)?.[1]
  const choose = (theme: string) => olga.submit(`${settings}/profile`, { theme }, `${settings}/profile/theme`)

  const dark = await choose('dark')
  const elsewhere = await (await signedIn(grid, owner)).open(`${settings}/profile`)
  const system = await choose('system')

  expect([dark, elsewhere, system].map(({ html }) => themeOf(html))).toEqual(['dark', undefined, undefined])
  expect(dark.html).toMatch(/<meta name="color-scheme" content="dark"/)
  expect(dark.html).toMatch(/value="dark" checked/)
})

test("a user cannot end another user's session", async () => {
  const one = await signedIn(grid, await person(grid, { role: 'owner' }))
  const at = `${settings}/sessions`
  const csrf = await csrfTokenOf(one, at)
  const [row] = await rows(grid, 'SELECT id FROM sessions WHERE user_id = ?', [owner.id])

  expect((await one.post(`${at}/${row.id}/end`, { csrf })).status).toBe(404)
  expect((await olga.open(at)).at).toBe(at)
})

test('a verified user creates another account and owns it', async () => {
  const viewer = await signedIn(grid, await person(grid, { role: 'viewer' }))

  const page = await viewer.submit('/new-account', { name: 'My own' })
  const team = await viewer.open(`${page.at.match(/^\/accounts\/[\w-]+/)![0]}/settings/team`)

  expect(page.text).toContain('The account has been created. You are its owner.')
  expect(team.text).toContain('You are the only member')
  expect((await viewer.open('/')).text).toContain('Acme')
})

test("of a user's 30 concurrent account creations, 20 succeed", async () => {
  const creator = await person(grid)
  const one = await signedIn(grid, creator)
  const csrf = await csrfTokenOf(one, '/new-account')

  const pages = await Promise.all(
    Array.from({ length: 30 }, (_, n) => one.post('/new-account', { csrf, name: `Account ${n}` })),
  )

  const refused = pages.filter(({ status }) => status !== 200)
  expect(refused.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 400))
  expect(refused[0].text).toContain('A user can own at most 20 accounts.')
  expect(await grid.store.global.users.memberships(creator.id)).toHaveLength(20)
  expect((await rows(grid, "SELECT count(*) AS n FROM accounts WHERE name LIKE 'Account %'"))[0].n).toBe(20)
})
