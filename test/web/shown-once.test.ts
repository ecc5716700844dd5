/** Keys, codes and links created by a form are shown once. A reload never issues another, and none is lost silently. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Browser } from '../support/browse.ts'
import { hasBrowser, useBrowser } from '../support/browser.ts'
import { dump, rows } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { password, type Person, person, signedIn } from '../support/people.ts'
import { addPasskey } from '../support/second-factor.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: TestGrid
let owner: Person
let one: Browser
let home: string
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  owner = await person(grid, { role: 'owner' })
  one = await signedIn(grid, owner)
  home = `/accounts/${grid.acme.id}`
})

const agentKey = /grid_agt_\w{49}/
/** What the form creates, the form's page, its action, its fields, and the pattern of the secret. */
const cases: [what: string, form: string, action: string, fields: Record<string, string>, secret: RegExp][] = [
  ['an agent', '/new-agent', '/new-agent', { alias: 'carol', type: 'mcp' }, agentKey],
  ['an agent key', '/agents/alice/connect', '/agents/alice/key', {}, agentKey],
  ['an admin key', '/settings/account/keys', '/settings/account/keys', { name: 'nightly' }, /grid_adm_\w{49}/],
  ['recovery codes', '/settings/security', '/settings/security/recovery-codes', {}, /\b[a-z2-9]{4}(-[a-z2-9]{4}){3}\b/],
  [
    'the link of an invitation',
    '/settings/team',
    '/settings/team/invitations',
    { email: 'new@people.example', role: 'member' },
    /\/invitations\/\w{43}/,
  ],
]

test.each(cases)('%s: the form redirects, and the secret is shown once', async (what, form, action, fields, secret) => {
  if (what === 'recovery codes') await addPasskey(grid, owner, 'Laptop')
  if (what === 'the link of an invitation') Object.assign(grid.deps.email, { isConfigured: false })
  const made = async () =>
    await dump(grid, grid.acme) + JSON.stringify(await rows(grid, 'SELECT hash FROM recovery_codes'))

  const shown = await one.submit(home + form, fields, home + action)

  expect(shown.at).toMatch(/\?shown=[0-9a-f-]{36}$/)
  expect(shown.html).toMatch(secret)
  const text = shown.html.match(secret)![0]
  const state = await made()
  for (let times = 0; times < 3; times++) {
    const again = await one.open(shown.at)
    expect(again.status).toBe(200)
    expect(again.at).not.toContain('shown=')
    expect(again.text).toMatch(/shown once and cannot be shown again. If you did not copy/)
    expect(again.html).not.toContain(text)
  }
  expect(await made()).toBe(state)
})

test('a new secret is passed in a sealed session cookie, which its page removes', async () => {
  const csrf = (await one.open(`${home}/settings/account/keys`)).html.match(/name="csrf" value="([^"]+)"/)![1]
  const made = await one.request(`${home}/settings/account/keys`, {
    method: 'POST',
    headers: { 'Origin': 'http://localhost:8787', 'Content-Type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ csrf, name: 'nightly' }).toString(),
  })

  const [cookie] = made.headers.getSetCookie()
  expect(made.status).toBe(303)
  expect(cookie).toMatch(/^grid-once-[0-9a-f-]{36}=[^;]+; Max-Age=300; Path=\/; HttpOnly; SameSite=Lax$/)
  expect(cookie).not.toContain('grid_adm')
  const at = made.headers.get('location')!
  const stranger = await signedIn(grid, await person(grid, { role: 'owner' }))
  const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/)!
  stranger.cookies.set(name, value)
  expect((await stranger.open(at)).html).not.toMatch(/grid_adm_\w{49}/)
  expect((await one.open(at)).html).toMatch(/grid_adm_\w{49}/)
  expect([...one.cookies.keys()].filter((key) => key.includes('once'))).toEqual([])
})

test('two keys created at the same time are both shown', async () => {
  const page = await one.open(`${home}/settings/account/keys`)
  const keys = await Promise.all(
    ['one', 'two'].map((name) => one.send(page, { name }, `${home}/settings/account/keys`)),
  )
  const secrets = keys.map(({ html }) => html.match(/grid_adm_\w{49}/)?.[0])
  expect(new Set(secrets).size).toBe(2)
  expect(secrets).not.toContain(undefined)
})

describe.skipIf(!hasBrowser)('in Chromium', () => {
  const visit = useBrowser()
  let live: LiveGrid
  beforeAll(async () => {
    live = await liveGrid({ env: { DURABILITY: 'relaxed' } })
  })

  test.each([true, false])(
    'after a key was created, reload, back and forward issue no second key; with script: %s',
    async (withScript) => {
      const user = await person(live, { role: 'owner' })
      const { page, faults, close } = await visit({ withScript })
      const settings = `${live.url}/accounts/${live.acme.id}/settings/account/keys`
      await page.goto(`${live.url}/sign-in?next=${encodeURIComponent(new URL(settings).pathname)}`)
      await page.fill('[name=email]', user.email)
      await page.fill('[name=password]', password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      const name = `nightly ${withScript}`
      const named = async () => (await live.acme.store.read.keys.adminKeys()).filter((key) => key.name === name).length

      await page.fill('#key-name', name)
      await page.click('text=Generate admin key')
      expect(await page.locator('#secret-text').textContent()).toMatch(/^grid_adm_/)
      const steps = [
        () => page.reload(),
        () => page.goto(`${settings}?done=saved`),
        () => page.goBack(),
        () => page.goBack(),
        () => page.goForward(),
      ]
      let told = 0
      for (const step of steps) {
        await step()
        await page.getByRole('heading', { name: 'Settings' }).waitFor()
        told += await page.getByText('shown once and cannot be shown again').count()
        expect(await named()).toBe(1)
      }
      expect(told).toBeGreaterThan(0)
      expect(faults).toEqual([])
      await close()
    },
  )

  test("after a refused form, Reload and Back open the form's page again", async () => {
    const user = await person(live, { role: 'owner' })
    const { page, faults, close } = await visit()
    const form = `/accounts/${live.acme.id}/new-agent`
    await page.goto(`${live.url}/sign-in?next=${encodeURIComponent(form)}`)
    await page.fill('[name=email]', user.email)
    await page.fill('[name=password]', password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.fill('[name=alias]', 'bob')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.getByText('The alias @bob is taken').waitFor()
    expect(await page.inputValue('[name=alias]')).toBe('bob')
    await page.fill('[name=alias]', 'after-bob')
    await page.getByRole('button', { name: 'Create agent' }).click()
    await page.locator('dialog#secret').waitFor()

    await page.goBack()
    await page.getByRole('heading', { name: 'New agent' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'New agent' }).waitFor()
    expect(new URL(page.url()).pathname).toBe(form)
    expect(faults.filter((fault) => !fault.includes('409'))).toEqual([])
    await close()
  })

  test('Escape asks for confirmation, and the key stays visible until the user decides', async () => {
    const user = await person(live, { role: 'owner' })
    const { page, faults, close } = await visit()
    const agent = `/accounts/${live.acme.id}/agents/bob/connect`
    await page.goto(`${live.url}/sign-in?next=${encodeURIComponent(agent)}`)
    await page.fill('[name=email]', user.email)
    await page.fill('[name=password]', password)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.locator('summary', { hasText: 'Replace key' }).click()
    await page.getByRole('button', { name: 'Replace key' }).click()
    const dialog = page.locator('dialog#secret')
    await dialog.waitFor()

    for (let times = 0; times < 3; times++) await page.keyboard.press('Escape')
    expect(await dialog.isVisible()).toBe(true)
    await page.getByText('Close without a copy?').waitFor()
    await page.getByRole('button', { name: 'Keep it open' }).click()
    expect(await page.getByText('Close without a copy?').isVisible()).toBe(false)
    expect(await dialog.isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Close', exact: true }).click()
    expect(await dialog.isVisible()).toBe(false)
    expect(faults).toEqual([])
    await close()
  })
})
