/** Second factors of users without passkeys: authenticator apps, recovery codes, half sessions, resets. */
import { beforeEach, describe, expect, test } from 'vitest'
import { resetSecondFactor } from '../../../src/grid/people/second-factor.ts'
import { minute, second } from '../../../src/lib/time.ts'
import { type Browser, browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, csrfTokenOf, emailedPath, membership, password, person, signedIn } from '../../support/people.ts'
import { addTotp, codeOf, securityOf } from '../../support/second-factor.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
})

const home = () => `/accounts/${grid.acme.id}`

/** Creates an owner with an authenticator app. */
async function annWithApp() {
  const ann = await person(grid, { role: 'owner' })
  return { ann, ...await addTotp(grid, ann) }
}

/** Returns a browser in which the user has given the password, but not the second factor. */
async function halfWay({ email }: { email: string }, address?: string): Promise<Browser> {
  const one = browser(grid, address)
  await one.signIn(email, password)
  return one
}

test('the set-up page of an authenticator app leads back to its tab', async () => {
  const one = await signedIn(grid, await person(grid, { role: 'member' }))
  const page = await one.submit(`${home()}/settings/security`, {}, `${home()}/settings/security/totp`)

  expect(page.html).toContain(`<a class="back row" href="${home()}/settings/security">`)
})

describe('signing in with a second factor', () => {
  test('signing in requires a code after the password, and until then no page or form treats the user as signed in', async () => {
    const { ann, secret } = await annWithApp()
    const one = browser(grid)

    const half = await one.signIn(ann.email, password)

    expect(half.at).toBe('/second-factor')
    for (const path of [home(), `${home()}/settings/security`, '/new-account', '/confirm', '/']) {
      const { at } = await one.open(path)
      expect(at, path).toMatch(/^\/second-factor/)
    }
    const posted = await one.post(`${home()}/settings/account/keys`, { name: 'k', csrf: 'x' })
    expect(posted.at).toMatch(/^\/second-factor\/form/)
    expect(await grid.acme.store.read.keys.adminKeys()).toHaveLength(1)

    const done = await one.submit('/second-factor', { code: codeOf(grid, secret) })
    expect(done.at).toBe(arrivalOf(grid.acme))
  })

  test('a half session ends after 15 minutes and is not listed', async () => {
    const { ann, secret, one: other } = await annWithApp()
    const one = await halfWay(ann)

    const sessions = await other.open(`${home()}/settings/sessions`)
    expect(sessions.html.match(/settings\/sessions\/[0-9a-f-]{36}\/end"/g)).toHaveLength(1)
    grid.clock.now += 15 * minute
    const late = await one.post('/second-factor', { code: codeOf(grid, secret) })

    expect(late.at).toBe('/sign-in')
    expect((await one.open('/second-factor')).at).toBe('/sign-in')
  })

  test('signing in by an email link or a reset link also requires a code', async () => {
    const { ann } = await annWithApp()
    const one = browser(grid)
    await one.submit('/sign-in-link', { email: ann.email })
    expect((await one.submit(emailedPath(grid), {})).at).toBe('/second-factor')

    const another = browser(grid)
    await another.submit('/reset', { email: ann.email })
    const reset = await another.submit(emailedPath(grid), { password: 'another horse battery' })
    expect(reset.at).toBe('/second-factor')
  })

  test('signing in with a code continues at the requested page, only on this host', async () => {
    const { ann, secret } = await annWithApp()
    const one = await halfWay(ann)
    const next = `${home()}/agents`
    const done = await one.submit(`/second-factor?next=${encodeURIComponent(next)}`, {
      code: codeOf(grid, secret),
    }, '/second-factor')
    expect(done.at).toBe(next)

    const two = await halfWay(ann)
    grid.clock.now += 30 * second
    const fields = { code: codeOf(grid, secret) }
    const elsewhere = await two.submit('/second-factor?next=//evil.example', fields, '/second-factor')
    expect(elsewhere.at).toBe(arrivalOf(grid.acme))
  })
})

describe('authenticator codes', () => {
  test('a code works once, even for concurrent requests, and not after a later code', async () => {
    const { ann, secret } = await annWithApp()
    const code = codeOf(grid, secret)
    const browsers = await Promise.all(Array.from({ length: 5 }, async (_, n) => {
      const one = await halfWay(ann, `203.0.113.${30 + n}`)
      return one
    }))

    const pages = await Promise.all(browsers.map((one) => one.submit('/second-factor', { code })))

    expect(pages.filter(({ at }) => at === arrivalOf(grid.acme))).toHaveLength(1)
    expect(pages.filter(({ text }) => text.includes('This code is wrong, was used already, or is too old.')))
      .toHaveLength(4)
    const earlier = codeOf(grid, secret, -30 * second)
    const late = await browsers.find((_, n) => pages[n].at !== arrivalOf(grid.acme))!.submit(
      '/second-factor',
      { code: earlier },
    )
    expect(late.status).toBe(400)
  })

  test('a code works in its own period and in the periods before and after it, and in no other', async () => {
    const { ann, secret } = await annWithApp()
    grid.clock.now += 5 * minute
    const one = await halfWay(ann)
    const use = (offset: number) => one.submit('/second-factor', { code: codeOf(grid, secret, offset) })

    for (const seconds of [-90, -60, 60, 90]) {
      expect([seconds, (await use(seconds * second)).status]).toEqual([seconds, 400])
    }
    expect((await use(-30 * second)).at).toBe(arrivalOf(grid.acme))
  })

  test('the code entered in the set-up does not work a second time', async () => {
    const ann = await person(grid, { role: 'owner' })
    const { secret } = await addTotp(grid, ann, { keepsStep: true })
    const one = await halfWay(ann)

    expect((await one.submit('/second-factor', { code: codeOf(grid, secret) })).status).toBe(400)
  })

  test('of 40 guessed codes in an hour, at most 10 are checked', async () => {
    const { ann, secret } = await annWithApp()
    const wrong = codeOf(grid, secret) === '000000' ? '111111' : '000000'

    const statuses: number[] = []
    for (let n = 0; n < 8; n++) {
      const one = await halfWay(ann, '203.0.113.66')
      for (let m = 0; m < 5; m++) statuses.push((await one.submit('/second-factor', { code: wrong })).status)
      grid.clock.now += 5 * minute
    }

    expect(statuses.filter((status) => status === 400)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
    const owner = await halfWay(ann)
    expect((await owner.submit('/second-factor', { code: codeOf(grid, secret) })).status).toBe(200)
  })

  test('a recovery code works once, however it is typed, and its use is reported by email', async () => {
    const { ann, codes } = await annWithApp()
    expect(new Set(codes).size).toBe(10)
    const typed = codes[3].replaceAll('-', ' ').toUpperCase()
    const one = await halfWay(ann)
    const sent = grid.emails.length

    expect((await one.submit('/second-factor', { code: typed })).at).toBe(arrivalOf(grid.acme))

    expect(grid.emails.slice(sent)).toMatchObject([{ to: ann.email, kind: 'second_factor_changed' }])
    expect((await one.open(`${home()}/settings/security`)).text).toContain('9 left')
    const two = await halfWay(ann, '203.0.113.67')
    expect((await two.submit('/second-factor', { code: typed })).status).toBe(400)
  })

  test('the database contains neither the secret nor a recovery code in plain text', async () => {
    const { secret, codes } = await annWithApp()

    const stored = JSON.stringify([
      await rows(grid, 'SELECT * FROM totps'),
      await rows(grid, 'SELECT * FROM recovery_codes'),
      await rows(grid, 'SELECT * FROM attempts'),
    ])
    for (const text of [secret, ...codes, ...codes.map((code) => code.replaceAll('-', ''))]) {
      expect(stored).not.toContain(text)
    }
  })

  test("a user's secret does not work for another user, even if it is copied to that user's row", async () => {
    const [ann, bob] = [await person(grid, { role: 'owner' }), await person(grid, { role: 'owner' })]
    const { secret } = await addTotp(grid, ann)
    await addTotp(grid, bob)
    const columns = ['encrypted_token', 'token_iv', 'token_auth_tag', 'token_key_id']
    const sets = columns.map((column) => `${column} = (SELECT ${column} FROM totps WHERE user_id = '${ann.id}')`)
    await grid.store.write([{ sql: `UPDATE totps SET ${sets}, last_step = 0 WHERE user_id = ?`, args: [bob.id] }])
    const one = await halfWay(bob)

    expect((await one.submit('/second-factor', { code: codeOf(grid, secret) })).status).toBe(500)
  })
})

describe('setting up an authenticator app', () => {
  test('the first second factor ends the other sessions and shows recovery codes once', async () => {
    const ann = await person(grid, { role: 'owner' })
    const other = await signedIn(grid, ann)
    const { one, page } = await addTotp(grid, ann)

    expect(page.text).toContain('It is shown only once')
    expect((await other.open(home())).at).toMatch(/^\/sign-in/)
    const later = await one.open(`${home()}/settings/security`)
    expect(later.text).toContain('10 left')
    expect(later.html).not.toContain('secret-text')
  })

  test('a wrong first code does not set up an authenticator app', async () => {
    const ann = await person(grid, { role: 'owner' })
    const one = await signedIn(grid, ann)
    const security = securityOf(grid)
    await one.submit(security, {}, `${security}/totp`)

    expect((await one.submit(`${security}/totp`, { code: '12345' }, `${security}/totp/finish`)).status).toBe(400)

    expect((await browser(grid).signIn(ann.email, password)).at).toBe(arrivalOf(grid.acme))
  })

  test('a session without a recent confirmation cannot remove the authenticator app', async () => {
    const { one } = await annWithApp()
    const security = securityOf(grid)
    const page = await one.open(security)
    grid.clock.now += 10 * minute

    const asked = await one.send(page, {}, `${security}/totp/remove`)

    expect(asked.at).toMatch(/^\/confirm/)
    expect(await rows(grid, 'SELECT 1 FROM totps')).toHaveLength(1)
  })

  test('removing the last second factor removes the recovery codes, and the password suffices again', async () => {
    const { ann, one } = await annWithApp()
    const security = securityOf(grid)

    await one.submit(security, {}, `${security}/totp/remove`)

    expect(await rows(grid, 'SELECT * FROM recovery_codes')).toEqual([])
    expect((await browser(grid).signIn(ann.email, password)).at).toBe(arrivalOf(grid.acme))
  })
})

describe('a lost second factor', () => {
  const resetPath = (userId: string) => `${home()}/settings/team/members/${userId}/reset-second-factor`

  test('another owner can reset a lost second factor, which is logged, reported by email, and ends all sessions', async () => {
    const [ann, olga] = [await person(grid, { role: 'owner' }), await person(grid, { role: 'owner' })]
    const { one } = await addTotp(grid, ann)
    const owner = await signedIn(grid, olga)
    const sent = grid.emails.length

    const page = await owner.submit(`${home()}/settings/team`, {}, resetPath(ann.id))

    expect(page.text).toContain('The second factor has been reset')
    expect((await one.open(home())).at).toMatch(/^\/sign-in/)
    expect((await browser(grid).signIn(ann.email, password)).at).toBe(arrivalOf(grid.acme))
    expect(grid.emails.slice(sent)).toMatchObject([{ to: ann.email, kind: 'second_factor_changed' }])
    const log = await owner.open(`${home()}/activity`)
    expect(log.text).toMatch(new RegExp(`Reset the second factor of ${ann.email}`))
  })

  test('a second factor cannot be reset for a user who belongs to another account', async () => {
    const [ann, olga] = [await person(grid, { role: 'owner' }), await person(grid, { role: 'owner' })]
    await addTotp(grid, ann)
    const owner = await signedIn(grid, olga)
    await grid.store.write([membership(grid.store, grid.evil.id, ann.id, 'viewer', grid.clock.now)])
    const csrf = await csrfTokenOf(owner, `${home()}/settings/team`)

    const beyond = await owner.post(resetPath(ann.id), { csrf })
    expect(beyond.status).toBe(403)
    expect(beyond.text).toContain('also belongs to an account that you do not own')

    expect((await browser(grid).signIn(ann.email, password)).at).toBe('/second-factor')
  })

  test("a second factor can be reset on the command line, which is logged in each of the user's accounts", async () => {
    const { ann } = await annWithApp()
    await grid.store.write([membership(grid.store, grid.evil.id, ann.id, 'viewer', grid.clock.now)])

    await resetSecondFactor(grid.store, ann.email, 'reset-second-factor')

    for (const { id } of [grid.acme, grid.evil]) {
      const logged = "SELECT actor_type FROM activity WHERE account_id = ? AND tool = 'reset-second-factor'"
      expect(await rows(grid, logged, [id])).toMatchObject([{ actor_type: 'system' }])
    }
    expect((await browser(grid).signIn(ann.email, password)).at).toBe(arrivalOf(grid.acme))
    await expect(resetSecondFactor(grid.store, ann.email, 'reset-second-factor'))
      .rejects.toMatchObject({ code: 'invalid_input' })
  })
})
