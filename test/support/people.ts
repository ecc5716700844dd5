/** People of the cast with a role, signed in at a browser. */
import type { Role } from '../../src/auth/actor.ts'
import { newId } from '../../src/lib/id.ts'
import { type Browser, browser } from './browse.ts'
import type { TestAccount, TestGrid } from './grid.ts'

const password = 'correct horse battery'

/** The owner of an account of the cast, by their address. */
export async function signedIn(grid: TestGrid, email: string): Promise<Browser> {
  await grid.setPassword(email, password)
  const person = browser(grid)
  await person.signIn(email, password)
  return person
}

/** A new person of an account. */
export async function personAs(grid: TestGrid, account: TestAccount, role: Role): Promise<Browser> {
  const { global } = grid.store
  const id = newId()
  const email = `${role}-${id}@acme.example`
  await grid.store.write([
    global.users.add({ id, email, name: `A ${role}`, passwordHash: null }, grid.clock.now),
    global.users.addMembership(account.id, id, role, grid.clock.now),
  ])
  return await signedIn(grid, email)
}
