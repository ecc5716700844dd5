/** Conversations in Chromium: they begin at their end, one jumps in the own time zone, and without script in UTC. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { minute } from '../../../src/lib/time.ts'
import { hasBrowser, useBrowser, type VisitOptions } from '../../support/browser.ts'
import { as, say } from '../../support/conversations.ts'
import { signedInMember } from '../../support/people.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'

describe.skipIf(!hasBrowser)('in Chromium', () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let path: string
  let last: number
  beforeAll(async () => {
    grid = await liveGrid()
    const alice = as(grid, grid.acme, grid.alice)
    for (let n = 0; n < 120; n++) {
      grid.clock.now += minute
      last = (await say(grid, alice, '@bob', `message ${n}\n\nof several lines\n\nin the night`)).seq
    }
    const [{ threadId }] = await grid.acme.store.read.threadMessages.bySeqs([last])
    path = `${grid.url}/accounts/${grid.acme.id}/conversations/${threadId}`
  })
  afterAll(() => grid?.close())

  async function open(options: VisitOptions) {
    const visitor = await visit(options)
    const { cookies } = await signedInMember(grid, grid.acme, 'owner')
    for (const [name, value] of cookies) await visitor.context.addCookies([{ name, value, url: grid.url }])
    return visitor
  }

  test.each([true, false])('with script: %s', async (withScript) => {
    const { page, faults, close } = await open({ withScript })
    const isSeen = (text: string) =>
      page.getByText(text, { exact: true }).evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect()
        return top >= 0 && bottom <= element.ownerDocument.documentElement.clientHeight
      })
    await page.goto(path)
    expect(
      await page.locator(`#m${last}`).evaluate((item) =>
        item.getBoundingClientRect().bottom <= item.ownerDocument.documentElement.clientHeight
      ),
    ).toBe(
      true,
    )

    await page.getByText('Older messages').click()
    await page.getByText('To the newest').click()
    await page.locator('.pane-head summary').click()
    // The clock began at 9:00 in UTC.
    const at = new Date(Date.parse('2026-11-21T09:30Z'))
    const local = await page.evaluate((ms) => {
      const date = new Date(ms)
      return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
    }, at.getTime())
    await page.fill('#at', withScript ? local : '2026-11-21T09:30')
    await page.locator('.jump button').click()
    await page.waitForURL(/at=/)
    expect(await page.locator('.messages > li:not(.day)').first().textContent()).toContain('message 29')
    expect(await isSeen('message 29')).toBe(true)
    expect(faults).toEqual([])
    await close()
  })

  test('the list is alone in a narrow window, and a conversation leads back to it', async () => {
    const { page, close } = await open({})
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(path.replace(/\/\d+$/, ''))
    expect(await page.locator('.conversations > section:visible').count()).toBe(1)
    await page.locator('.threads a').first().click()
    await page.waitForURL(/conversations\/\d+/)
    await page.locator('a.back:visible').click()
    await page.waitForURL(/conversations$/)
    await close()
  })
})
