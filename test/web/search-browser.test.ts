/** The search dialog in a browser, and its keyboard shortcuts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { accessibilityFaults, faultsOf, hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { signIn, type WritingGrid, writingGrid } from '../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  let visitor: Visitor
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ env: { DURABILITY: 'relaxed' } }))
    const { grid: { alice, bob }, tell } = site
    await tell(alice, '@ann', 'The deployment of the blue service failed: "connection refused" at 10.0.0.7')
    await tell(bob, '@ann', 'Which deployment?\n\nI know of three, and one of them is yours. '.repeat(8))
    visitor = await visit()
    await signIn(visitor, site.browser, site.grid.url)
  })
  afterAll(async () => {
    await visitor?.close()
    await site?.close()
  })

  const url = (...parts: (string | number)[]) => site.grid.url + site.path(...parts)

  test.each(['/', 'Control+k'])(
    '%s opens the search dialog, where Enter opens the first entry and Shift Enter searches messages',
    async (keys) => {
      const { page } = visitor
      await page.goto(url('channels'))
      await page.evaluate('document.activeElement.blur()')
      await page.keyboard.press(keys)
      const dialog = page.getByRole('dialog', { name: 'Search' })
      await dialog.waitFor()
      await page.keyboard.type('ali')
      await dialog.getByRole('link', { name: '@alice' }).waitFor()
      expect(await accessibilityFaults(page, '#jump')).toEqual([])
      await page.keyboard.press('Enter')
      await page.waitForURL(url('agents', 'alice'))

      await page.keyboard.press(keys)
      await page.keyboard.type('deploy blue')
      await page.keyboard.press('Shift+Enter')
      await page.getByRole('heading', { name: '1 message' }).waitFor()
      await page.getByRole('link', { name: /connection refused/ }).click()
      await page.waitForURL(/\/conversations\/\d+\?m=\d+#m\d+$/)
    },
  )

  test('the search page has no accessibility faults', async () => {
    await visitor.page.goto(`${url('search')}?q=deployment`)

    expect(await faultsOf(visitor, 'search-hits')).toEqual([])
  })
})
