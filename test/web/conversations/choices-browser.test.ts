/** The answer buttons of a question in Chromium: by keyboard, in every view, and live for other readers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf, hasBrowser, useBrowser } from '../../support/browser.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { signIn, type WritingGrid, writingGrid } from '../../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ env: { DURABILITY: 'relaxed' } }))
  })
  afterAll(() => site?.close())

  test('a question can be answered by keyboard, fits into every view, and shows the choice on another open page', async () => {
    const { grid, browser, path, tell } = site
    const choices = [
      'Yes, deploy it',
      'No',
      '<b>Approve</b>',
      'לא עכשיו',
      'w'.repeat(60),
      'Only after the tests of all runtimes',
    ]
    const { thread, seq } = await tell(grid.alice, '@ann', 'May I deploy release 2.4 to production?', { choices })
    const [visitor, other] = [await visit(), await visit()]
    for (const one of [visitor, other]) await signIn(one, browser, grid.url)
    const { page } = visitor
    const conversation = grid.url + path('conversations', thread)
    const item = other.page.locator(`#m${seq}`)
    await other.page.goto(conversation)

    await page.goto(grid.url + path('home'))
    expect(await faultsOf(visitor, 'choices-home')).toEqual([])
    await page.goto(conversation)
    expect(await faultsOf(visitor, 'choices-open')).toEqual([])
    await page.getByRole('group', { name: '@alice asks' }).getByRole('button', { name: 'No', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('chosen').waitFor()

    await item.getByText('chosen').waitFor()
    expect(await item.getByRole('button', { name: 'No', exact: true }).count()).toBe(0)
    expect(await faultsOf(visitor, 'choices-answered')).toEqual([])
    expect(other.faults).toEqual([])
    await Promise.all([visitor.close(), other.close()])
  })
})
