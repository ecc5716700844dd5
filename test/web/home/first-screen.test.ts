/** The part of Home that is visible without scrolling, and menus in Attention. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hour } from '../../../src/lib/time.ts'
import { waitFor } from '../../support/wait-for.ts'
import { hasBrowser, useBrowser } from '../../support/browser.ts'
import { pausedConversation } from '../../support/echoes.ts'
import { storeOf } from '../../support/grid.ts'
import { hold } from '../../support/held.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { signIn, type WritingGrid, writingGrid } from '../../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ host: 'localhost', env: { DURABILITY: 'relaxed' } }))
    const { grid: { acme, alice, bob, clock }, ann, tell } = site
    for (const agent of [alice, bob, await acme.agent('carol'), await acme.agent('dave')]) {
      await tell(agent, '@ann', 'Which of the days suits you for the review of the quarter with all of the teams?', {
        choices: ['Monday', 'Tuesday'],
      })
    }
    await hold(acme.store, { deciders: [ann.person.id] })
    for (let n = 0; n < 6; n++) {
      await sendMessage(storeOf(site.grid, alice), {
        to: 'bob',
        text: `Shall I send invoice ${n}? ${'It is long. '.repeat(20)}`,
      })
    }
    clock.now += hour
    await pausedConversation(acme.store, ['alice', 'ann'])
  })
  afterAll(() => site.close())

  test('Home shows faults on the first screen, in single-line rows', async () => {
    const { page, context, close } = await visit()
    await signIn({ context }, site.browser, site.grid.url)
    for (const [width, height] of [[1280, 800], [390, 844]]) {
      await page.setViewportSize({ width, height })
      await page.goto(site.grid.url + site.path('home'))
      const end = await page.evaluate('document.querySelector(".bottom").getBoundingClientRect().top || innerHeight')
      const rows = await page.locator('.needs > li').evaluateAll((rows) =>
        rows.map((row) => ({ text: row.textContent!, ...row.getBoundingClientRect().toJSON() }))
      )

      expect(rows.find(({ text }) => text.includes('is paused')).bottom).toBeLessThanOrEqual(end as number)
      // On a phone, a row may be higher if its choices need a separate line.
      const isHigh = ({ text, height }: typeof rows[number]) => height > 46 && (width > 400 || !text.includes('Monday'))
      expect(rows.filter(isHigh)).toEqual([])
    }
    await close()
  })

  test('nothing covers the menu of a row in Attention', async () => {
    const { page, context, close } = await visit()
    await signIn({ context }, site.browser, site.grid.url)
    await pausedConversation(site.grid.acme.store, ['carol', 'dave'])
    await page.setViewportSize({ width: 1280, height: 2000 })
    await page.goto(site.grid.url + site.path('attention'))
    await page.locator('.needs > li', { hasText: 'is paused' }).first().getByText('Snooze').click()
    // Evaluated repeatedly, because a live update may change the layout at any time.
    const isFree = `[...document.querySelectorAll('.needs .menu[open] .item')].every(item => {
      const { left, right, top, height } = item.getBoundingClientRect()
      return [left + 5, right - 5].every(x => item.contains(document.elementFromPoint(x, top + height / 2)))
    })`
    await waitFor('the menu above the row', () => page.evaluate<boolean>(isFree))
    await close()
  })
})
