/** The rows of the list of conversations: what they say to each reader, and that they are cut without losing names. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { followLog } from '../../../src/worker/threads.ts'
import { hasBrowser, useBrowser } from '../../support/browser.ts'
import { as, say } from '../../support/conversations.ts'
import type { TestAgent } from '../../support/grid.ts'
import { signedIn, signedInMember } from '../../support/people.ts'
import { seated, type SeatedPerson } from '../../support/seats.ts'
import { type LiveGrid, liveGrid } from '../../support/server.ts'

let grid: LiveGrid
let ann: SeatedPerson
let list: string
beforeAll(async () => {
  grid = await liveGrid({ env: { DURABILITY: 'relaxed' } })
  list = `/accounts/${grid.acme.id}/conversations`
  ann = await seated(grid, 'ann', { role: 'owner' })
  const long: TestAgent[] = []
  for (const alias of ['an-agent-with-a-very-long-alias-1', 'an-agent-with-a-very-long-alias-2']) {
    long.push(await grid.acme.agent(alias.slice(-32)))
  }
  const alice = as(grid, grid.acme, grid.alice)
  await say(grid, alice, '@bob', 'The **figures**, in `a.csv`: ready?')
  await say(grid, as(grid, grid.acme, grid.bob), '@alice', 'They are.')
  await say(
    grid,
    as(grid, grid.acme, long[0]),
    `@${long[1].alias}`,
    'שלום, המשלוח מוכן. This goes on for longer than a row.',
  )
  await say(grid, alice, '@ann', 'May I?')
  await say(grid, alice, `@${long[1].alias}`, 'short and long')
  await writeMessage(ann.account, { to: '@bob', text: 'Please stop.' })
  await followLog(grid.store)
})
afterAll(() => grid?.close())

const rowsOf = (html: string) =>
  [...html.matchAll(/<span class="names">(.*?)<\/span><time.*?<span class="preview">(.*?)<\/span>/g)]
    .map((row) => row.slice(1).map((part) => part.replace(/<[^>]+>/g, '')).join(' | '))

test('a row says who wrote last where its names leave that open', async () => {
  const owner = await signedIn(grid, ann.person)

  const rows = rowsOf((await owner.open(list)).html)
  expect(rows).toEqual(expect.arrayContaining(['@alice | May I?', '@bob | You: Please stop.']))
  expect(rows).toContain('@alice + @bob | @bob: They are.')
})

test('who may not read a conversation sees how many messages it has', async () => {
  const viewer = await signedInMember(grid, grid.acme, 'viewer')

  const { html } = await viewer.open(list)
  expect(rowsOf(html)).toContain('@alice + @bob | 2 messages')
  expect(rowsOf(html)).toContain('@alice + @ann | 1 message')
  const { text } = await viewer.open(html.match(/<a href="([^"]*conversations\/\d+)"/)![1])
  expect(text).toContain('Viewers see who writes, how much and when.')
})

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 120_000 }, () => {
  const visit = useBrowser()

  async function open(path: string) {
    const visitor = await visit({ timeZone: 'Asia/Tokyo' })
    for (const [name, value] of (await signedIn(grid, ann.person)).cookies) {
      await visitor.context.addCookies([{ name, value, url: grid.url }])
    }
    await visitor.page.goto(grid.url + path)
    return visitor
  }

  test('a row that is too short cuts its longer names only, and a text from right to left at its end', async () => {
    const { page, close } = await open(list)
    const row = page.locator('.threads a').filter({ hasText: 'long-alias-1' })
    const namesOf = (text: string) =>
      page.locator('.threads a').filter({ hasText: text }).locator('.names bdi').evaluateAll((all) =>
        all.map(({ clientWidth, scrollWidth }) => ({ width: clientWidth, isCut: scrollWidth > clientWidth }))
      )

    expect((await namesOf('They are.')).map(({ isCut }) => isCut)).toEqual([false, false])
    expect((await namesOf('short and long')).map(({ isCut }) => isCut)).toEqual([false, true])
    for (const { width, isCut } of await namesOf('long-alias-1')) {
      expect(width).toBeGreaterThan(75)
      expect(isCut).toBe(true)
    }
    const [first, cut] = await row.locator('.preview bdi').last().evaluate((text) => {
      const range = text.ownerDocument.createRange()
      range.setStart(text.firstChild!, 0)
      range.setEnd(text.firstChild!, 1)
      const box = text.getBoundingClientRect()
      return [box.right - range.getBoundingClientRect().right, text.scrollWidth - text.clientWidth]
    })
    expect(first).toBeLessThan(1)
    expect(cut).toBeGreaterThan(0)
    await close()
  })

  test('a menu leads to the beginning of yesterday, in the time zone of the reader', async () => {
    const { page, close } = await open(list)
    const midnight = await page.evaluate('new Date(new Date().setHours(-24, 0, 0, 0)).getTime()')

    await page.locator('.pane-head summary').click()
    await page.getByRole('link', { name: 'Yesterday' }).click()
    await page.waitForURL(/at=/)
    expect(Number(new URL(page.url()).searchParams.get('at'))).toBe(midnight)
    await close()
  })

  test('the last two days have names', async () => {
    const { page, close } = await open(list)
    const days = await page.evaluate(`[0, 1, 2].map((ago) => {
      const time = document.querySelector('time[data-local=day]')
      time.dateTime = new Date(new Date().setHours(-24 * ago, 30, 0, 0)).toISOString()
      window.dispatchEvent(new Event('focus'))
      return time.textContent.replace(/[A-Z][a-z]{2}, [^,]*$/, '')
    })`)

    expect(days).toEqual(['Today, ', 'Yesterday, ', ''])
    await close()
  })
})
