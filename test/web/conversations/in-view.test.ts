/** Messages to a person count as read after a second in view, and stay unread below the edge of the window. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasBrowser, useBrowser } from '../../support/browser.ts'
import { rows } from '../../support/database.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { signIn, type WritingGrid, writingGrid } from '../../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ env: { DURABILITY: 'relaxed' } }))
  })
  afterAll(() => site?.close())

  const unread = async () =>
    (await rows(
      site.grid,
      `SELECT m.seq FROM v_deliveries d JOIN messages m ON m.seq = d.seq
       WHERE d.account_id = ? AND d.agent_id = ? AND d.state = 'unread' ORDER BY m.seq`,
      [site.grid.acme.id, site.ann.personAlias.agentId],
    )).map(({ seq }) => Number(seq))

  test('messages in view for a second are marked as read, others are not, and a button marks them unread again', async () => {
    const { grid, browser, path, tell } = site
    const sent: { seq: number; thread: number }[] = []
    for (let n = 0; n < 30; n++) sent.push(await tell(grid.alice, '@ann', `Message ${n}\n\n${'and more\n'.repeat(4)}`))
    const visitor = await visit()
    const { page, faults } = visitor
    await signIn(visitor, browser, grid.url)

    await page.goto(`${grid.url}${path('conversations', sent[0].thread)}?m=${sent[0].seq}#m${sent[0].seq}`)
    await waitFor('the first to be read', async () => !(await unread()).includes(sent[0].seq))
    const left = await unread()
    expect(left).toContain(sent[29].seq)
    await waitFor(
      'its mark to go',
      () => page.evaluate(`!document.getElementById('m${sent[0].seq}').matches('.unread')`),
    )

    // Messages that arrive later are watched as well.
    await page.evaluate(`{
      const list = document.querySelector('.messages'), added = list.lastElementChild.cloneNode(true)
      added.id = 'm${sent[29].seq}'
      list.lastElementChild.remove()
      list.prepend(added)
    }`)
    await page.evaluate(`document.getElementById('m${sent[29].seq}').scrollIntoView()`)
    await waitFor('the added one to be read', async () => !(await unread()).includes(sent[29].seq))

    await page.getByRole('button', { name: 'Mark unread' }).click()
    await page.waitForURL(/\/conversations$/)
    expect(await unread()).toEqual(sent.map(({ seq }) => seq))
    expect(faults).toEqual([])
    await visitor.close()
  })

  test('the list of conversations marks nothing as read, although it shows the newest conversation', async () => {
    const { grid, browser, path, tell } = site
    const { seq } = await tell(grid.bob, '@ann', 'In the list')
    const visitor = await visit()
    await signIn(visitor, browser, grid.url)

    await visitor.page.goto(`${grid.url}${path('conversations')}`)

    expect(await visitor.page.locator('form[data-reads]').count()).toBe(0)
    expect(await unread()).toContain(seq)
    await visitor.close()
  })
})
