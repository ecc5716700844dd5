/** Helpers for page tests: signed-in members of each role, posted forms, and the activity log. */
import type { Role } from '../../src/auth/actor.ts'
import type { Browser } from './browse.ts'
import type { TestAccount, TestGrid } from './grid.ts'
import { csrfTokenOf, person, signedIn } from './people.ts'

/** Creates a browser with a session of a new member with this role. */
export async function signedInWithRole(
  grid: TestGrid,
  role: Role,
  account: TestAccount = grid.acme,
): Promise<Browser> {
  return await signedIn(grid, await person(grid, { account, role, name: role, isVerified: false, hasPassword: false }))
}

/** Posts a form with the session's CSRF token to a path, even if no page shows that form. */
export async function postWithToken(browser: Browser, path: string, fields: Record<string, string> = {}) {
  const csrf = await csrfTokenOf(browser, path.split('/').slice(0, 3).join('/'))
  return await browser.post(path, { csrf, ...fields })
}

/** Returns Acme's activity log, oldest row first. `by` contains the actor's type and credential kind. */
export async function activityOf(grid: TestGrid) {
  const found = await grid.acme.store.read.activity.list()
  return found.map(({ tool, outcome, actorType, credentialKind, arguments: input }) => ({
    tool,
    outcome,
    by: `${actorType} ${credentialKind}`,
    input: JSON.parse(input),
  })).reverse()
}
