/** A conversation can be read in low windows, and links to a message reveal it without scrolling the page. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../../support/long.ts'
import { heldMessages } from '../../../src/grid/approvals/held.ts'
import { createApprovalRule } from '../../../src/grid/approvals/rules.ts'
import { hasBrowser, useBrowser, type Visitor } from '../../support/browser.ts'
import { storeOf } from '../../support/grid.ts'
import { layoutFaults } from '../../support/layout.ts'
import { sendMessage } from '../../support/messaging.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'
import { signedInByEmail } from '../../support/people.ts'
import { askFor } from '../../support/tasks.ts'
import { signIn, type WritingGrid, writingGrid } from '../../support/writing.ts'

/** Widths and heights: 1280 x 800 at 200 % zoom, a small phone, a phone with its keyboard, and a low, wide window. */
const low: [number, number][] = [
  [640, 400],
  [390, 500],
  ...isLong ? [[320, 568], [1280, 420]] as [number, number][] : [],
]
const usual: [number, number][] = [[1280, 800], [390, 844]]
/** 12rem in pixels. */
const leastHeight = 192

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  let site: WritingGrid<LiveGrid>
  let visitor: Visitor
  let told: { thread: number }
  const sent: { seq: number; thread: number }[] = []
  beforeAll(async () => {
    site = await writingGrid(await liveGrid({ env: { DURABILITY: 'relaxed' } }))
    const { grid, tell } = site
    for (const n of Array(30).keys()) {
      sent.push(await tell(grid.alice, '@ann', `Report ${n} of the night\n\n${'and more\n'.repeat(4)}`))
    }
    for (const n of Array(12).keys()) await askFor(storeOf(grid, grid.alice), `Count ${n}\n\n${'and more\n'.repeat(4)}`)
    // A list longer than the window, with screen reader texts in each row.
    for (const n of Array(20).keys()) {
      const agent = await grid.acme.agent(`agent-${n}`)
      const ready = await tell(agent, '@ann', 'Ready')
      if (n === 1) told = ready
      await tell(agent, '@alice', 'Ready')
    }
    await tell(grid.alice, '@ann', 'Which day?', { choices: ['Monday', 'Tuesday'] })
    visitor = await visit()
    await signIn(visitor, site.browser, grid.url)
  })
  afterAll(async () => {
    await visitor?.close()
    await site?.close()
  })

  const conversation = () => site.path('conversations', sent[0].thread)
  const atMessage = (n: number) => `${conversation()}?m=${sent[n].seq}#m${sent[n].seq}`
  async function open(path: string, [width, height]: [number, number]) {
    await visitor.page.setViewportSize({ width, height })
    await visitor.page.goto('about:blank')
    await visitor.page.goto(site.grid.url + path)
  }
  const messagesHeight = () =>
    visitor.page.locator('section:last-of-type > .scrolls').evaluate((part) => part.clientHeight)
  const isInView = (seq: number) =>
    visitor.page.evaluate(`(() => {
      const part = document.getElementById('m${seq}'), { left, top } = part.getBoundingClientRect()
      return part.contains(document.elementFromPoint(left + 60, top + 30))
    })()`)

  test.each([...low, ...usual])(
    'at %i x %i, messages get 12rem or more and the composer is reachable',
    async (...size) => {
      const { page } = visitor
      await open(conversation(), size)
      expect(await messagesHeight()).toBeGreaterThanOrEqual(leastHeight)
      expect(await layoutFaults(page)).toEqual([])

      await open(atMessage(3), size)
      expect(await isInView(sent[3].seq)).toBe(true)
      expect(await page.evaluate('scrollY')).toBe(0)
      await page.getByRole('textbox', { name: 'To @alice' }).fill('Seen')
      await page.getByRole('button', { name: 'Send' }).scrollIntoViewIfNeeded()
      const { bottom } = await page.getByRole('button', { name: 'Send' }).evaluate((part) =>
        part.getBoundingClientRect()
      )
      expect(bottom).toBeLessThan(size[1])
    },
  )

  test("an empty composer is one line high, without the browser's own controls", async () => {
    const { page } = visitor
    await open(site.path('conversations', told.thread), [1280, 800])
    const height = () => page.locator('.composer').evaluate((part) => part.getBoundingClientRect().height)
    // Removes the question, as an answer would.
    await page.locator('#waits').evaluate((part) => part.replaceChildren())
    expect(await height()).toBeLessThanOrEqual(64)
    expect(await page.locator('[type=file]').evaluate((part) => part.getBoundingClientRect().width)).toBe(1)

    await page.getByRole('textbox', { name: 'To @agent-1' }).fill('one\n\nand another')
    await page.getByLabel('Expiry').selectOption('3600')
    expect(await height()).toBeGreaterThan(110)
    expect(await layoutFaults(page)).toEqual([])
  })

  test.each(usual)('at %i x %i, links reveal a hit, task or message without scrolling the page', async (...size) => {
    await signIn(visitor, site.browser, site.grid.url)
    const { page } = visitor
    const moved = () => page.evaluate('[scrollY, Math.max(0, document.documentElement.scrollHeight - innerHeight)]')

    await open(`${site.path('search')}?q=night`, size)
    await page.locator('a[href*="#m"]').first().click()
    await page.waitForURL(/#m\d+$/)
    expect(await moved()).toEqual([0, 0])

    await open(atMessage(3), size)
    expect(await moved()).toEqual([0, 0])

    // Sign in as the owner, who sees agents' tasks.
    await signIn(visitor, await signedInByEmail(site.grid, 'ann@acme.example'), site.grid.url)
    await open(site.path('tasks'), size)
    await page.getByRole('link', { name: 'Count 2' }).click()
    await page.getByRole('link', { name: '@alice + @bob' }).first().click()
    await page.waitForURL(/#m\d+$/)
    expect(await moved()).toEqual([0, 0])
  })

  test('both decision buttons stay visible next to a held message that is longer than the window', async () => {
    const { acme, store } = site.grid
    const rule = { name: 'All', from: '@agent-1', to: '@alice', deciders: [site.ann.person.id] }
    await createApprovalRule(acme.store, rule)
    const { id, alias } = (await acme.store.read.agents.byAlias('agent-1'))!
    await sendMessage(storeOf(site.grid, { id, alias }), { to: 'alice', text: 'Pay this.\n'.repeat(80) })
    const [held] = await heldMessages(store.account(acme.id, site.ann.person.actor('member')))
    await signIn(visitor, site.browser, site.grid.url)
    for (const [width, height] of usual) {
      await open(site.path('held', held.id), [width, height])
      const [approve, refuse] = await Promise.all(
        ['.decide button', '.decide summary'].map((part) =>
          visitor.page.locator(part).first().evaluate((part) => part.getBoundingClientRect())
        ),
      )
      expect(approve.top).toBe(refuse.top)
      expect(approve.bottom).toBeLessThan(height)
      expect(await layoutFaults(visitor.page)).toEqual([])
    }
  })
})
