/** Second factors when units are retried, and when two changes collide. See docs/people.md, "Signing in". */
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { addFactor } from '../../../src/grid/people/second-factor.ts'
import { newId } from '../../../src/lib/id.ts'
import { second } from '../../../src/lib/time.ts'
import { browser } from '../../support/browse.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { arrivalOf, password, person, signedIn } from '../../support/people.ts'
import { addTotp, codeOf, securityOf } from '../../support/second-factor.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
})

describe('a unit retried after a lost response', () => {
  /** Creates an owner. After that, every unit is sent twice. */
  async function owner() {
    const user = await person(grid, { role: 'owner' })
    const { write } = grid.store
    vi.spyOn(grid.store, 'write').mockImplementation(async (statements) => {
      await write(statements)
      return await write(statements)
    })
    return user
  }

  test('a retried unit sets up an authenticator app and recovery codes once, and each code works once', async () => {
    const ann = await owner()
    const { secret, codes } = await addTotp(grid, ann)
    expect(codes).toHaveLength(10)

    for (const code of [codeOf(grid, secret), codes[0]]) {
      const one = browser(grid)
      await one.signIn(ann.email, password)
      expect((await one.submit('/second-factor', { code })).at).toBe(arrivalOf(grid.acme))
      const two = browser(grid, '203.0.113.68')
      await two.signIn(ann.email, password)
      expect((await two.submit('/second-factor', { code })).status).toBe(400)
    }
  })

  test('a retried unit removes an authenticator app', async () => {
    const { one } = await addTotp(grid, await owner())
    const security = securityOf(grid)

    const page = await one.submit(security, {}, `${security}/totp/remove`)

    expect(page.status).toBe(200)
    expect(await rows(grid, 'SELECT * FROM totps')).toEqual([])
  })

  test('a retried unit stores one passkey with recovery codes, and accepts a challenge response once', async () => {
    const ann = await owner()
    const { challenges, secondFactors } = grid.store.global

    expect(await addPasskeyOf(ann)).toHaveLength(10)

    expect(await secondFactors.passkeysOf(ann.id)).toHaveLength(1)
    const challenge = { hash: 'h', purpose: 'sign_in', holder: 'x', expiresAt: grid.clock.now + second } as const
    await grid.store.write([challenges.add(challenge)])
    const take = async () =>
      (await grid.store.write([challenges.take('h', 'sign_in', 'x', newId(), grid.clock.now)]))[0].length
    expect([await take(), await take()]).toEqual([1, 0])
  })

  test('a retried unit accepts a passkey once, and the next use requires a higher counter', async () => {
    const ann = await owner()
    const { secondFactors } = grid.store.global
    await addPasskeyOf(ann)
    const [{ id }] = await secondFactors.passkeysOf(ann.id)
    const use = async (counter: number) =>
      (await grid.store.write([secondFactors.usePasskey(id, counter, newId(), grid.clock.now)]))[0].length

    expect([await use(7), await use(7), await use(8)]).toEqual([1, 0, 1])
  })
})

test('of two concurrent first factors, only one returns recovery codes, and these codes work', async () => {
  const ann = await person(grid, { role: 'owner' })
  const one = await signedIn(grid, ann)
  const security = securityOf(grid)
  const { html } = await one.submit(security, {}, `${security}/totp`)
  const secret = html.match(/<code id="secret-text">([^<]+)</)![1].replaceAll(' ', '')
  const { write } = grid.store
  let codes: string[] | undefined
  vi.spyOn(grid.store, 'write').mockImplementation(async (statements) => {
    // Adds a passkey between the check for a first factor and the unit that stores it.
    if (!codes && statements.some(({ sql }) => sql.includes('INSERT INTO recovery_codes'))) {
      codes = []
      codes = await addPasskeyOf(ann)
    }
    return await write(statements)
  })

  const page = await one.submit(`${security}/totp`, { code: codeOf(grid, secret) }, `${security}/totp/finish`)

  expect(page.html).not.toContain('secret-text')
  expect(codes).toHaveLength(10)
  expect(await rows(grid, 'SELECT confirmed_at FROM totps')).toEqual([{ confirmed_at: grid.clock.now }])
  const two = browser(grid)
  await two.signIn(ann.email, password)
  expect((await two.submit('/second-factor', { code: codes![0] })).at).toBe(arrivalOf(grid.acme))
})

/** Stores a passkey of a user, and ends the user's other sessions. The passkey can never be used. */
async function addPasskeyOf(user: { id: string; email: string }): Promise<string[] | undefined> {
  const id = newId()
  const passkey = {
    id,
    userId: user.id,
    credentialId: id,
    publicKey: 'AAAA',
    counter: 0,
    transports: [],
    name: 'Phone',
  }
  const [session] = await grid.store.global.sessions.ofUser(user.id, grid.clock.now, 0)
  const actor = { user: { ...user, emailVerifiedAt: null }, sessionId: session?.id ?? '' }
  return await addFactor(grid.store, actor, id, [grid.store.global.secondFactors.addPasskey(passkey, grid.clock.now)])
}
