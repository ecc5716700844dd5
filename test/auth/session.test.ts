/** A session starts only if the verified password is still current. See docs/people.md, "Signing in". */
import { beforeEach, expect, test } from 'vitest'
import { createSessions } from '../../src/auth/session.ts'
import { servedOrigins } from '../../src/edge.ts'
import { signIn } from '../../src/grid/people/people.ts'
import { changePassword } from '../../src/grid/people/profile.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'
import { password, person } from '../support/people.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid({ env: { DURABILITY: 'relaxed' } })
})

test('a sign-in fails if the password changes after it was verified and before the session starts', async () => {
  const bob = await person(grid, { role: 'member' })
  const people = createSessions(grid.store, servedOrigins(grid.deps.config))
  const [here, there] = ['203.0.113.20', '203.0.113.21']
  const begin = async (password: string) => {
    const { userId, passwordHash } = await signIn(grid.store, { email: bob.email, password }, there)
    return () => people.begin(new Request(grid.deps.config.appUrl), userId, there, { passwordHash })
  }
  const late = await begin(password)

  await changePassword(grid.store, bob.id, { current: password, password: 'a new horse battery' }, here)

  await expect(late()).rejects.toMatchObject({ code: 'sign_in_failed' })
  expect(await (await begin('a new horse battery'))()).toContain('grid-session=')
})
