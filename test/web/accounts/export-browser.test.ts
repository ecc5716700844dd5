/** The account export in a browser. The page stays open, so its button must not stay busy. */
import { afterAll, describe, expect, test } from 'vitest'
import { hasBrowser, useBrowser } from '../../support/browser.ts'
import { person, signedIn } from '../../support/people.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { signIn } from '../../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let grid: LiveGrid | undefined
  afterAll(() => grid?.close())

  test('an owner can export an account twice from the same page', async () => {
    grid = await liveGrid({ env: { DURABILITY: 'relaxed' } })
    const visitor = await visit()
    await signIn(visitor, await signedIn(grid, await person(grid, { role: 'owner' })), grid.url)
    const { page } = visitor
    await page.goto(`${grid.url}/accounts/${grid.acme.id}/settings/account/export`)
    const done = page.getByText('Your browser downloads the archive.')

    for (let n = 0; n < 2; n++) {
      const download = page.waitForEvent('download')
      await page.getByRole('button', { name: 'Export the account' }).click()
      await download
      await done.waitFor()
    }

    expect(await done.count()).toBe(1)
    await visitor.close()
  })
})
