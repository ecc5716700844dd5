/** Single-key shortcuts on pages, for people who have not disabled them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hour } from '../../../src/lib/time.ts'
import { hasBrowser, useBrowser, type Visitor } from '../../support/browser.ts'
import { hold } from '../../support/held.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { signIn, type WritingGrid, writingGrid } from '../../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  let threads: { thread: number; seq: number }[]
  let visitor: Visitor
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ env: { DURABILITY: 'relaxed' } }))
    const { grid: { alice, bob }, tell } = site
    await tell(alice, '@ann', 'One')
    threads = [await tell(alice, '@ann', 'Two'), await tell(bob, '@ann', 'Three')]
    visitor = await visit()
    await signIn(visitor, site.browser, site.grid.url)
  })
  afterAll(async () => {
    await visitor?.close()
    await site?.close()
  })

  const url = (...parts: (string | number)[]) => site.grid.url + site.path(...parts)
  const press = async (...keys: string[]) => {
    for (const key of keys) await visitor.page.keyboard.press(key)
  }
  const focused = () => visitor.page.evaluate('document.activeElement.textContent')

  test('the keys j and k move through the list, Enter opens a conversation, u leads back', async () => {
    const { page } = visitor
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(url('conversations'))
    await press('j')
    expect(await focused()).toContain('Three')
    await press('j')
    expect(await focused()).toContain('Two')
    await press('k')
    expect(await focused()).toContain('Three')
    await press('j', 'Enter')
    await page.waitForURL(new RegExp(`${url('conversations', threads[0].thread)}`))
    await press('u')
    await page.waitForURL(url('conversations'))
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('the key r answers the focused message, or moves to the composer', async () => {
    const { page } = visitor
    await page.goto(url('conversations', threads[0].thread))
    await press('r')
    expect(await page.evaluate('document.activeElement.name')).toBe('text')
    expect(await page.getByLabel('To @alice').inputValue()).toBe('')

    await page.setViewportSize({ width: 390, height: 800 })
    await page.evaluate('document.activeElement.blur()')
    await press('j', 'r')
    await page.waitForURL(/\?reply=\d+#text$/)
    await page.getByText('Answer to').waitFor()
    await page.waitForFunction(`document.activeElement.name === 'text'`)
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('the key e marks as read and unread, n opens the next unread conversation, g c opens the list', async () => {
    const { page } = visitor
    await page.goto(url('conversations', threads[1].thread))
    await page.getByRole('button', { name: 'Mark read' }).waitFor()
    await Promise.all([page.waitForURL(/#m\d+$/), press('e')])
    await page.getByRole('button', { name: 'Mark unread' }).waitFor()
    await Promise.all([page.waitForURL(url('conversations')), press('e')])
    await Promise.all([page.waitForURL(/\?m=\d+#m\d+$/), press('n')])
    await Promise.all([page.waitForURL(url('conversations')), press('g', 'c')])
  })

  test('on Home, the keys j and k move through decisions and questions first, and skip folded rows', async () => {
    const { page } = visitor
    const { grid: { alice, bob, acme }, tell } = site
    await hold(acme.store, { deciders: [site.ann.person.id] })
    for (const text of ['Ship?', 'Pay?', 'Pay?']) await tell(bob, '@alice', text).catch(() => {})
    await acme.store.write([{ sql: 'DELETE FROM approval_rules WHERE account_id = ?', args: [acme.id] }])
    await tell(alice, '@ann', 'Monday?')
    const rows = await page.goto(url('home')).then(() => page.locator('.needs > li').allTextContents())
    const through = async (key: string, n: number) => {
      const found = []
      for (; n > 0; n--) found.push((await press(key), await focused()))
      return found
    }

    expect(rows.length).toBeGreaterThan(3)
    const down = await through('j', rows.length)
    expect(down[0]).toMatch(/Ship\?/)
    expect(down[1]).toMatch(/Pay\?/)
    expect(down[2]).toMatch(/@alice: |@bob: /)
    for (const [n, row] of rows.entries()) expect(row).toContain(down[n])
    expect(await through('k', 2)).toEqual(down.slice(-3, -1).reverse())

    await page.goto(url('held'))
    await page.locator('summary', { hasText: 'like this' }).click()
    await page.evaluate('document.activeElement.blur()')
    const links = new Set()
    for (let n = 0; n < 4; n++) {
      await press('j')
      links.add(await page.evaluate('document.activeElement.outerHTML'))
    }
    expect(links.size).toBe(4)
  })

  test("in Attention, the key j moves to a row's link, and s opens its snooze menu", async () => {
    const { page } = visitor
    const { grid: { alice, bob, clock }, tell } = site
    await tell(alice, '@bob', 'Four')
    await tell(bob, '@alice', 'Five')
    clock.now += 2 * hour
    await page.goto(url('attention'))
    const rows = page.locator('.needs[aria-label="Warnings"] > li')
    const above = await page.locator('.needs > li').count() - await rows.count()
    await press(...Array(above + 2).fill('j'))
    expect(await rows.nth(1).locator('a:focus').count()).toBe(1)
    await press('s')
    expect(await rows.nth(1).locator('details[open] button:focus').textContent()).toBe('For 1 hour')
    await Promise.all([page.waitForURL(/done=snoozed/), press('Enter')])
    expect(await rows.count()).toBe(1)
  })

  test('shortcuts ignore keys in fields, keys with modifiers, and all keys once they are disabled', async () => {
    const { page } = visitor
    await page.goto(url('conversations', threads[0].thread))
    const at = page.url()
    await page.getByLabel('To @alice').click()
    await page.keyboard.type('u?gcnej')
    expect(await page.getByLabel('To @alice').inputValue()).toBe('u?gcnej')
    await page.evaluate('document.activeElement.blur()')
    await press('Alt+u', 'Control+e')
    expect(page.url()).toBe(at)
    expect(await page.getByRole('dialog').count()).toBe(0)

    await page.goto(url('settings', 'profile'))
    await page.getByRole('button', { name: 'Turn single keys off' }).click()
    await page.getByText('Single keys are off.').first().waitFor()
    expect(await page.locator('#shortcuts').count()).toBe(0)
    await press('g', 'c')
    expect(page.url()).toMatch(/settings\/profile/)
    await page.getByRole('button', { name: 'Turn single keys on' }).click()
    await page.getByText('Single keys are on.').first().waitFor()
    await Promise.all([page.waitForURL(url('conversations')), press('g', 'c')])
  })
})
