/** Helpers for tests of pages: a signed-in member of each role, posted forms, and the activity log. */
import type { Role } from '../../src/auth/actor.ts'
import type { Browser } from './browse.ts'
import type { TestAccount, TestGrid } from './grid.ts'
import { csrfTokenOf, person, signedIn } from './people.ts'

/** A browser with a session of a new member with this role. */
export async function signedInWithRole(
  grid: TestGrid,
  role: Role,
  account: TestAccount = grid.acme,
): Promise<Browser> {
  return await signedIn(grid, await person(grid, { account, role, name: role, isVerified: false, hasPassword: false }))
}

/** Post a form to a path, whether or not a page shows that form, with the CSRF token of the session. */
export async function postWithToken(browser: Browser, path: string, fields: Record<string, string> = {}) {
  const csrf = await csrfTokenOf(browser, path.split('/').slice(0, 3).join('/'))
  return await browser.post(path, { csrf, ...fields })
}

/** The activity log of Acme, oldest row first. `by` is the type of the actor and the kind of its credential. */
export async function activityOf(grid: TestGrid) {
  const found = await grid.acme.store.read.activity.list()
  return found.map(({ tool, outcome, actorType, credentialKind, arguments: input }) => ({
    tool,
    outcome,
    by: `${actorType} ${credentialKind}`,
    input: JSON.parse(input),
  })).reverse()
}
