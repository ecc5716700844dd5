/** A user's form input survives the end of the session and other interruptions. */
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { day } from '../../src/lib/time.ts'
import type { Browser } from '../support/browse.ts'
import { hasBrowser, useBrowser } from '../support/browser.ts'
import { dump } from '../support/database.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { password, type Person, person, signedIn } from '../support/people.ts'
import { addTotp, codeOf } from '../support/second-factor.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'

let grid: TestGrid
let owner: Person
let one: Browser
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
  owner = await person(grid, { role: 'owner' })
  one = await signedIn(grid, owner)
})

const action = () => `/accounts/${grid.acme.id}/skills/new`
const fields = { name: 'forecasts <i>', description: 'two\nlines & more' }
const skills = async () => (await grid.acme.store.read.skills.search('forecasts', 5, 0)).map(({ name }) => name)

/** Expects that the page contains the form with its input, and that the form can be sent. */
async function expectKept(page: Awaited<ReturnType<Browser['open']>>) {
  expect(page.status).toBe(200)
  expect(page.at).toBe(action())
  expect(page.html).toContain('value="forecasts &lt;i&gt;"')
  expect(page.html).toContain('two\nlines &amp; more')
  expect(page.html).toMatch(/class="notice good"[^]{0,600}Nothing has changed yet/)
  expect(await skills()).toEqual([])
  const done = await one.send(page, fields, action())
  expect(done.text).toContain('The skill has been created')
  expect(await skills()).toEqual([fields.name])
}

async function postAfterTheSession() {
  const form = await one.open(action())
  grid.clock.now += 15 * day
  return await one.send(form, fields, action())
}

test('a form is shown again after the session has ended and the user has given the password', async () => {
  const asked = await postAfterTheSession()

  expect(asked.status).toBe(401)
  expect(asked.text).toContain('Your session has ended What you entered is kept.')
  const wrong = await one.send(asked, { email: owner.email, password: 'wrong horse battery' }, '/sign-in')
  expect(wrong.status).toBe(401)
  await expectKept(await one.send(wrong, { email: owner.email, password }, '/sign-in'))
})

test('a form is shown again after the session has ended and the user has given the password and a code', async () => {
  const { secret, one: begun } = await addTotp(grid, owner)
  one = begun
  const asked = await postAfterTheSession()
  const half = await one.send(asked, { email: owner.email, password }, '/sign-in')
  expect(half.text).toContain('Second factor')

  await expectKept(await one.send(half, { code: codeOf(grid, secret) }, '/second-factor'))
})

test('a form is kept if the user has signed in again in another tab', async () => {
  const form = await one.open(action())
  await one.submit('/confirm', { password })

  const page = await one.send(form, fields, action())

  expect(page.status).toBe(403)
  expect(page.text).toContain('You have signed in or out since this form was opened')
  expect(page.html).toContain('value="forecasts &lt;i&gt;"')
  expect((await one.send(page, fields, action())).text).toContain('The skill has been created')
})

test('the form for a new account, which is outside any account, is shown again after signing in', async () => {
  const form = await one.open('/new-account')
  grid.clock.now += 15 * day
  const asked = await one.send(form, { name: 'Beta' }, '/new-account')

  const page = await one.send(asked, { email: owner.email, password }, '/sign-in')

  expect(page.at).toBe('/new-account')
  expect(page.html).toContain('value="Beta"')
})

test('secrets in a form, and forms of other sites, are not kept', async () => {
  const path = `/accounts/${grid.acme.id}/settings/profile`
  const form = await one.open(path)
  grid.clock.now += 15 * day
  const typed = { email: 'new@people.example', current: 'a very secret password' }
  const asked = await one.send(form, typed, `${path}/email`)
  expect(asked.html).toContain('new@people.example')
  expect(asked.html).not.toContain('very')

  const foreign = await one.post(action(), fields, { Origin: 'https://evil.example' })
  expect(foreign.status).toBe(403)
  expect(foreign.html).not.toContain('forecasts')
})

test('a kept form changes nothing by itself, whatever it contains', async () => {
  const before = await dump(grid, grid.acme)
  await one.post('/sign-in/form?next=' + encodeURIComponent(action()), fields)
  await one.post(action(), { ...fields, kept: '[["name","a"]]' })
  await one.post(action(), { ...fields, kept: 'not JSON' })
  expect(await dump(grid, grid.acme)).toBe(before)
})

describe.skipIf(!hasBrowser)('in Chromium', () => {
  const visit = useBrowser()
  let live: LiveGrid
  beforeAll(async () => {
    live = await liveGrid({ env: { DURABILITY: 'relaxed' } })
  })

  test.each([true, false])('a kept form is restored in the same tab; with script: %s', async (withScript) => {
    const user = await person(live, { role: 'owner' })
    const { page, context, faults, close } = await visit({ withScript })
    const signIn = async () => {
      await page.fill('[name=email]', user.email)
      await page.fill('[name=password]', password)
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    }
    const path = `${live.url}/accounts/${live.acme.id}/skills/new`
    await page.goto(`${live.url}/sign-in?next=${encodeURIComponent(new URL(path).pathname)}`)
    await signIn()
    await page.fill('[name=name]', 'tides')
    await page.fill('[name=description]', 'when it comes')
    await context.clearCookies()
    await page.getByRole('button', { name: 'Create skill' }).click()
    await page.getByText('What you entered is kept').waitFor()
    await signIn()
    await page.getByText('Nothing has changed yet').waitFor()
    expect(await page.inputValue('[name=name]')).toBe('tides')
    expect(await page.inputValue('[name=description]')).toBe('when it comes')
    await page.reload()
    expect(await page.inputValue('[name=name]')).toBe('tides')
    await page.fill('[name=name]', `tides ${withScript}`)
    await page.getByRole('button', { name: 'Create skill' }).click()
    await page.getByText('The skill has been created').waitFor()
    expect(faults).toEqual([])
    await close()
  })
})
