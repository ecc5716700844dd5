/** Changes that require a recent confirmation of identity, and accounts that require a second factor. */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createAdminKey } from '../../../src/grid/accounts/accounts.ts'
import { minute } from '../../../src/lib/time.ts'
import { type Browser, browser, unescapeHtml } from '../../support/browse.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, csrfTokenOf, password, person, signedIn } from '../../support/people.ts'
import { addPasskey, addTotp, codeOf, securityOf } from '../../support/second-factor.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
})

const home = () => `/accounts/${grid.acme.id}`
const settings = (path: string) => `${home()}/settings/${path}`

describe('ten minutes after the last confirmation', () => {
  /** The changes, each with the page to return to and its fields. */
  const changes: [what: string, path: string, fields: (other: string) => Record<string, string>][] = [
    ['transferring the ownership', 'team/hand-over', (member) => ({ member, confirmation: 'Acme' })],
    ['appointing an owner', 'team/members/:other/role', () => ({ role: 'owner' })],
    ['inviting an owner', 'team/invitations', () => ({ email: 'new@people.example', role: 'owner' })],
    ['resetting the second factor of a member', 'team/members/:other/reset-second-factor', () => ({})],
    ['creating an admin key', 'account/keys', () => ({ name: 'deployment' })],
    ['requiring a second factor', 'account/second-factor', () => ({ required: 'yes' })],
    ['letting people see contents', 'account/contents', () => ({ visible: 'yes' })],
    ['letting people read messages', 'account/reading', () => ({ choice: 'on' })],
    ['setting up an app', 'security/totp', () => ({})],
    ['new recovery codes', 'security/recovery-codes', () => ({})],
  ]

  test.each(changes)('%s asks for a confirmation of identity first', async (_, path, fieldsOf) => {
    const [ann, other] = [await person(grid, { role: 'owner' }), await person(grid, { role: 'admin' })]
    await addTotp(grid, other)
    const one = await signedIn(grid, ann)
    const action = settings(path.replace(':other', other.id))
    const before = await stateOf(grid)
    grid.clock.now += 10 * minute
    const post = async () =>
      await one.post(action, { csrf: await csrfTokenOf(one, settings('sessions')), ...fieldsOf(other.id) })

    const asked = await post()

    expect(asked.at).toBe(`/confirm/form?next=${encodeURIComponent(action)}`)
    expect(asked.text).toContain('It is done as soon as you have confirmed')
    expect(await stateOf(grid)).toBe(before)
    const confirmed = await one.send(asked, { password }, '/confirm')
    expect(confirmed.at).not.toMatch(/^\/confirm/)
    expect(confirmed.text).not.toMatch(/Nothing has changed yet|Confirm that it is you/)
    if (path.startsWith('team/')) expect(await stateOf(grid)).not.toBe(before)
    expect((await post()).at).not.toMatch(/^\/confirm/)
  })

  test('actions that need no confirmation still work without one', async () => {
    const ann = await person(grid, { role: 'owner' })
    const { id } = await createAdminKey(grid.acme.store, 'old')
    const one = await signedIn(grid, ann)
    grid.clock.now += 10 * minute

    const page = await one.submit(settings('account/keys'), {}, settings(`account/keys/${id}/delete`))

    expect(page.text).toContain('The admin key has been deleted')
  })
})

describe('a form that waits for the confirmation', () => {
  const keys = () => settings('account/keys')
  const names = async () => (await grid.acme.store.read.keys.adminKeys()).map(({ name }) => name)
  const ask = async (one: Browser) => await one.submit(keys(), { name: 'deployment' })
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  let one: Browser
  let before: string[]
  beforeEach(async () => {
    one = await signedIn(grid, await person(grid, { role: 'owner' }))
    before = await names()
    grid.clock.now += 10 * minute
  })

  /** Confirms without following the redirect. Returns the URL that runs the form, and the form. */
  async function confirm(asked: Awaited<ReturnType<typeof ask>>) {
    const field = (name: string) => unescapeHtml(asked.html.match(new RegExp(`name="${name}" value="([^"]*)"`))![1])
    const fields = ['csrf', 'next', 'back', 'kept', 'runsUntil'].map((name) => [name, field(name)])
    const form = { ...Object.fromEntries(fields) as Record<string, string>, password }
    const { appUrl } = grid.deps.config
    const body = new URLSearchParams(form).toString()
    const response = await one.request('/confirm', { method: 'POST', headers: { ...headers, Origin: appUrl }, body })
    expect(response.status).toBe(307)
    return { to: response.headers.get('location')!, form }
  }

  test('a form that waited for a confirmation is run once, at its path, with its fields, in the new session', async () => {
    const { to, form } = await confirm(await ask(one))
    const kept = JSON.stringify([['name', 'another']])
    const elsewhere = `${home()}/skills/new?${to.split('?')[1]}`
    const thief = browser(grid)
    await thief.submit('/sign-in', { email: (await person(grid, { role: 'owner' })).email, password })
    for (const [name, value] of one.cookies) if (name.includes('once')) thief.cookies.set(name, value)

    expect((await one.post(to, form, { Origin: 'https://evil.example' })).status).toBe(403)
    expect((await thief.post(to, form)).text).toContain('Nothing has changed yet')
    expect((await one.post(to, { ...form, kept })).text).toContain('Nothing has changed yet')
    expect((await one.post(elsewhere, form)).text).toContain('Nothing has changed yet')
    expect(await names()).toEqual(before)

    expect((await one.post(to, form)).at).toContain(`${keys()}?shown=`)
    expect(await names()).toEqual(['deployment', ...before])
    expect((await one.post(to, form)).text).toContain('Nothing has changed yet')
    expect(await names()).toHaveLength(before.length + 1)
  })

  test.each<[string, (one: Browser) => Promise<{ html: string; text: string; at: string }>]>([
    ['of another session', async (one) => {
      const other = await signedIn(grid, await person(grid, { role: 'owner' }))
      const csrf = await csrfTokenOf(other, settings('sessions'))
      return await one.post(`/confirm/form?next=${keys()}`, { csrf, name: 'deployment' })
    }],
    ['that has waited before', async (one) => {
      const csrf = await csrfTokenOf(one, settings('sessions'))
      return await one.post(`/confirm/form?next=${keys()}`, { csrf, kept: '[["name","deployment"]]' })
    }],
    ['with a secret, which does not wait', async (one) => {
      const csrf = await csrfTokenOf(one, settings('sessions'))
      return await one.post(keys(), { csrf, name: 'deployment', token: 'a secret' })
    }],
  ])('a form %s is shown again after the confirmation instead of being run', async (_, ask) => {
    const asked = await ask(one)
    expect(asked.text).toContain('You get it back in the next step')
    const page = await one.send(asked as Awaited<ReturnType<Browser['open']>>, { password }, '/confirm')
    expect(page.text).toContain('Nothing has changed yet')
    expect(page.html).toContain('value="deployment"')
    expect(await names()).toEqual(before)
  })

  test('a form that waited for ten minutes is shown again, and a form of another site is not kept', async () => {
    const asked = await ask(one)
    grid.clock.now += 10 * minute
    expect((await one.send(asked, { password }, '/confirm')).text).toContain('Nothing has changed yet')

    const foreign = await one.post(`/confirm/form?next=${keys()}`, { name: 'x' }, { Origin: 'https://evil.example' })
    expect(foreign.status).toBe(403)
    expect(await names()).toEqual(before)
  })

  test('Cancel leads back from a form that waits, and a download form that waited is shown again', async () => {
    const csrf = await csrfTokenOf(one, settings('sessions'))
    const from = `${home()}/held?page=2`
    const asked = await one.post(keys(), { csrf, name: 'x' }, { Referer: grid.deps.config.appUrl + from })
    const wrong = await one.send(asked, { password: 'wrong horse battery' }, '/confirm')
    for (const page of [asked, wrong]) {
      expect(page.html).toMatch(new RegExp(`href="${from.replace('?', '\\?')}">Cancel`))
    }
    const file = await one.submit(settings('account/export'), {})
    expect((await one.send(file, { password }, '/confirm')).text).toContain('press the button again')
  })
})

describe('confirming an identity', () => {
  test('a confirmation requires the second factor instead of the password if there is one, and ends the old cookie', async () => {
    const ann = await person(grid, { role: 'owner' })
    const { secret, one } = await addTotp(grid, ann)
    grid.clock.now += 10 * minute
    const old = new Map(one.cookies)
    const csrf = await csrfTokenOf(one, settings('sessions'))
    expect((await one.post('/confirm', { csrf, password })).status).toBe(400)

    const asked = await one.post(settings('account/keys'), { csrf, name: 'deployment' })
    const done = await one.send(asked, { code: codeOf(grid, secret) }, '/confirm')

    expect(done.at).toContain(`${settings('account/keys')}?shown=`)
    const thief = browser(grid)
    for (const [name, value] of old) thief.cookies.set(name, value)
    expect((await thief.open(home())).at).toMatch(/^\/sign-in/)
  })

  test('a user with a second factor cannot change the password with the password alone', async () => {
    const { one } = await addTotp(grid, await person(grid, { role: 'owner' }))
    grid.clock.now += 11 * minute
    const fields = { current: password, password: 'another long passphrase' }
    const changed = await one.submit(settings('profile'), fields, settings('profile/password'))
    expect(changed.at).toBe(settings('profile?done=password-changed'))

    const csrf = await csrfTokenOf(one, settings('sessions'))
    const asked = await one.post(settings('account/keys'), { csrf, name: 'deployment' })

    expect(asked.at).toMatch(/^\/confirm/)
    expect((await one.open(settings('sessions'))).status).toBe(200)
  })

  test('a password change during which a second factor is added leads to a half session', async () => {
    const ann = await person(grid, { role: 'owner' })
    const one = await signedIn(grid, ann)
    const csrf = await csrfTokenOf(one, settings('profile'))
    const { write } = grid.store
    let isAdded = false
    // Adds the second factor between reading the session and creating the new one.
    const spy = vi.spyOn(grid.store, 'write').mockImplementation(async (statements) => {
      if (!isAdded && statements.some(({ sql }) => /^UPDATE users\b/.test(sql))) {
        isAdded = true
        await addPasskey(grid, ann, 'added meanwhile')
      }
      return await write(statements)
    })
    await one.post(settings('profile/password'), { csrf, current: password, password: 'another long passphrase' })
    spy.mockRestore()

    expect(isAdded).toBe(true)
    expect((await one.open(home())).at).toMatch(/^\/second-factor/)
  })

  test('a confirmation with a time in the future does not count', async () => {
    const one = await signedIn(grid, await person(grid, { role: 'owner' }))
    const csrf = await csrfTokenOf(one, settings('sessions'))
    grid.clock.now -= minute
    const asked = await one.post(settings('account/keys'), { csrf, name: 'deployment' })
    expect(asked.at).toMatch(/^\/confirm/)
  })

  test('a confirmation with a wrong password is refused, with the limits of a sign-in', async () => {
    const one = await signedIn(grid, await person(grid, { role: 'owner' }), '203.0.113.70')
    const statuses: number[] = []
    for (let n = 0; n < 6; n++) {
      statuses.push((await one.submit('/confirm', { password: 'wrong horse battery' })).status)
    }
    expect(statuses).toEqual([400, 400, 400, 400, 429, 429])
  })

  test('a confirmation never redirects to another host', async () => {
    const one = await signedIn(grid, await person(grid, { role: 'owner' }))
    const done = await one.submit('/confirm?next=//evil.example', { password }, '/confirm')
    expect(done.at).toBe(arrivalOf(grid.acme))
  })
})

describe('an account that requires a second factor', () => {
  const require = async (owner: Browser, required = 'yes') =>
    await owner.submit(settings('account/second-factor'), { required })

  test('an account that requires a second factor shows owners and admins only the page to add one', async () => {
    const [ann, admin, member] = await Promise.all(
      (['owner', 'admin', 'member'] as const).map((role) => person(grid, { role })),
    )
    const { one: owner } = await addTotp(grid, ann)
    expect((await require(owner)).text).toContain('Required for owners and admins.')
    const two = await signedIn(grid, admin)

    for (const path of ['', '/agents', '/settings/profile', '/settings/team']) {
      const page = await two.open(home() + path)
      expect(page.at).toBe(securityOf(grid))
      expect(page.text).toContain('This account requires a second factor')
    }
    const csrf = await csrfTokenOf(two, securityOf(grid))
    const refused = await two.post(settings('account/keys'), { csrf, name: 'a key' })
    expect(refused.status).toBe(403)
    expect((await (await signedIn(grid, member)).open(home())).at).toBe(arrivalOf(grid.acme))
    expect((await owner.open(home())).at).toBe(arrivalOf(grid.acme))

    const { one: added } = await addTotp(grid, admin)
    expect((await added.open(home())).at).toBe(arrivalOf(grid.acme))
  })

  test('an owner with a second factor can require owners and admins to have one, and this is logged', async () => {
    const ann = await person(grid, { role: 'owner' })
    const one = await signedIn(grid, ann)

    const refused = await require(one)

    expect(refused.status).toBe(400)
    expect(refused.text).toContain('Add a second factor of your own first')
    const { one: owner } = await addTotp(grid, ann)
    await require(owner)
    expect((await owner.open(`${home()}/activity`)).text).toContain(
      'Changed whether owners and admins need a second factor',
    )
    expect((await require(owner, 'no')).text).toContain('Optional for owners and admins.')
  })
})

/** Returns the database content that the changes affect. */
async function stateOf({ acme }: TestGrid): Promise<string> {
  const { team, keys } = acme.store.read
  return JSON.stringify([await team.members(), await team.invitations(), await keys.adminKeys()])
}
