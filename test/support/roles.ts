/** People of each role, signed in without the sign-in page, whose passwords take a moment each. */
import type { Role } from '../../src/auth/actor.ts'
import { sessions } from '../../src/auth/session.ts'
import { newId } from '../../src/lib/id.ts'
import { type Browser, browser } from './browse.ts'
import type { TestAccount, TestGrid } from './grid.ts'

/** A browser in which a new person with a role in an account is signed in. */
export async function signedInAs(grid: TestGrid, role: Role, account: TestAccount = grid.acme): Promise<Browser> {
  const { store, clock, deps } = grid
  const id = newId()
  await store.write([
    store.global.users.add({ id, email: `${id}@people.example`, name: role, passwordHash: null }, clock.now),
    store.global.users.addMembership(account.id, id, role, clock.now),
  ])
  const { appUrl } = deps.config
  const cookie = await sessions(store, [new URL(appUrl).origin]).begin(new Request(appUrl), id, '203.0.113.9')
  const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/)!
  const one = browser(grid)
  one.cookies.set(name, value)
  return one
}

/** Post a form that the page does not show, with the token of the session. */
export async function forge(one: Browser, path: string, fields: Record<string, string> = {}) {
  const { html } = await one.open(path.split('/').slice(0, 3).join('/'))
  const csrf = html.match(/name="csrf" value="([^"]+)"/)![1]
  return await one.post(path, { csrf, ...fields })
}

/** The rows of the activity log, newest last: tool, outcome, arguments and who. */
export async function activityOf(grid: TestGrid) {
  const found = await grid.acme.store.read.activity.list()
  return found.map(({ tool, outcome, actorType, credentialKind, arguments: input }) => ({
    tool,
    outcome,
    by: `${actorType} ${credentialKind}`,
    input: JSON.parse(input),
  })).reverse()
}
