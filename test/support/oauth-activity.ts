/** The activity log as its page shows it, for tests of OAuth grants. */
import type { TestAccount } from './grid.ts'
import { browse, type OAuthBrowser, type OAuthGrid, signedIn } from './oauth.ts'

/** The HTML of the activity page of an account, as Ann or another user sees it. */
export async function activityPage(
  grid: OAuthGrid,
  account: TestAccount = grid.acme,
  browser: OAuthBrowser = grid.ann,
): Promise<string> {
  return await (await browse(grid, browser, `/accounts/${account.id}/activity`)).text()
}

/** The sentences of the page, newest first. */
export async function sentences(
  grid: OAuthGrid,
  account: TestAccount = grid.acme,
  browser: OAuthBrowser = grid.ann,
): Promise<string[]> {
  const happened = (await activityPage(grid, account, browser)).matchAll(
    /<span class="happened">(.*?)<\/span><details/gs,
  )
  return [...happened].map(([, sentence]) => sentence.replace(/<[^>]+>/g, ''))
}

/** Make Ann an admin of Evil too. She signs in again, so that her session knows it. */
export async function joinEvil(grid: OAuthGrid): Promise<void> {
  const { id } = grid.ann.visitor.user
  await grid.store.write([grid.store.global.users.addMembership(grid.evil.id, id, 'admin', grid.clock.now)])
  Object.assign(grid.ann, await signedIn(grid, grid.ann.visitor.user))
}
