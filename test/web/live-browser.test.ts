/** Open pages in a real browser: which parts they update, when, and over how many streams. */
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findThread, listThreads } from '../../src/grid/conversations/threads.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { hasBrowser, screenshot, useBrowser, type Visitor } from '../support/browser.ts'
import { say } from '../support/conversations.ts'
import { following } from '../support/live.ts'
import { sendMessage } from '../support/messaging.ts'
import { person, signedIn } from '../support/people.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { waitFor } from '../support/wait-for.ts'
import { storeOf } from '../support/grid.ts'

describe.skipIf(!hasBrowser)('an open page', () => {
  const visit = useBrowser()
  let grid: LiveGrid
  let visitor: Visitor
  let unfollow: () => Promise<void>
  let thread: string
  let user: string
  beforeEach(async () => {
    // The Locks API needs a secure context, such as localhost.
    grid = await liveGrid({ host: 'localhost' })
    unfollow = following(grid.store)
    await say(grid, storeOf(grid, grid.alice), 'bob', 'the first message')
    const [{ id }] = (await listThreads(grid.acme.store, {})).threads
    thread = `${grid.url}/accounts/${grid.acme.id}/conversations/${id}`
    visitor = await visit()
    const owner = await person(grid, { role: 'owner' })
    user = owner.id
    const { cookies } = await signedIn(grid, owner)
    await visitor.context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: grid.url })))
  })
  afterEach(async () => {
    await visitor.close()
    await unfollow()
  })

  const streams = () => grid.store.waiting.pages.count
  const send = (text: string) => sendMessage(storeOf(grid, grid.alice), { to: 'bob', text })

  test('an open page shows and announces a new message and its states, and keeps the focus', async () => {
    const { page, faults } = visitor
    await page.goto(thread)
    await waitFor('the stream', () => streams() === 1)
    await page.locator('.pane-head summary').first().focus()
    await send('the second message')
    await page.getByText('the second message').first().waitFor()
    await page.locator('.threads .preview', { hasText: 'the second message' }).waitFor()
    await page.locator('[role=status]', { hasText: '1 new from @alice' }).waitFor({ state: 'attached' })
    await readMessages(storeOf(grid, grid.bob), { limit: 10 })
    await page.locator('.messages > li:last-child .state.leased').first().waitFor()

    expect(await page.locator('.pane-head summary:focus').count()).toBe(1)
    expect(faults).toEqual([])
  })

  test('an open Home page refreshes when a message arrives, but not right after it was opened', async () => {
    const { page } = visitor
    const read: string[] = []
    page.on('request', (request) => void (request.headers()['x-by-itself'] && read.push(request.url())))
    // Opens a page first, because the first page that a process serves does not know the newest message yet.
    await page.goto(thread)
    await waitFor('the stream', () => streams() === 1)
    read.length = 0
    const begun = page.waitForResponse(/\/live\?/)
    await page.goto(`${grid.url}/accounts/${grid.acme.id}/home`)
    await begun
    await waitFor('the stream', () => streams() === 1)
    const home = () => read.filter((url) => url.endsWith('/home'))
    expect(home()).toEqual([])
    await send('the second message')
    await page.getByText('1 new').or(page.getByText('2 new')).first().waitFor()
    expect(home()).toHaveLength(1)
  })

  test('an open list of conversations does not mark the conversation next to it as seen', async () => {
    const { page } = visitor
    const list = `${grid.url}/accounts/${grid.acme.id}/conversations`
    const [{ id }] = (await listThreads(grid.acme.store, {})).threads
    const seen = async () => (await findThread(grid.acme.store, id, user))!.seenSeq
    await page.goto(list)
    await waitFor('the stream', () => streams() === 1)
    await send('the second message')
    await page.locator('.messages', { hasText: 'the second message' }).waitFor()
    await page.locator('.threads .preview', { hasText: 'the second message' }).waitFor()
    expect(await seen()).toBe(0)

    await page.goto(thread)
    await page.locator('.messages', { hasText: 'the second message' }).waitFor()
    expect(await seen()).toBeGreaterThan(0)
  })

  test('an open page shows new messages as a button while its reader has scrolled up', async () => {
    for (let n = 0; n < 40; n++) await say(grid, storeOf(grid, grid.alice), 'bob', `older message ${n}`)
    const { page } = visitor
    await page.goto(thread)
    await waitFor('the stream', () => streams() === 1)
    await page.locator('.messages > li').first().scrollIntoViewIfNeeded()
    const before = await page.locator('.messages > li').count()
    await send('news one')
    await page.locator('button[data-new]', { hasText: '1 new' }).waitFor()
    await send('news two')
    await page.locator('button[data-new]', { hasText: '2 new' }).waitFor()
    expect(await page.locator('.messages > li').count()).toBe(before)

    await page.locator('button[data-new]').click()
    await page.locator('.messages', { hasText: 'news two' }).waitFor()
    expect(await page.locator('button[data-new]').count()).toBe(0)
  })

  test('eight open pages share one stream, and another page takes over when the first is closed', async () => {
    const pages: Page[] = [visitor.page]
    for (let n = 1; n < 8; n++) pages.push(await visitor.context.newPage())
    for (const page of pages) await page.goto(thread)
    await waitFor('the stream', () => streams() === 1)
    await send('to all tabs')
    await pages.at(-1)!.locator('.messages', { hasText: 'to all tabs' }).waitFor()
    expect(streams()).toBe(1)

    await pages[0].close()
    await waitFor('the stream of another tab', () => streams() === 1)
    await send('after the first tab')
    await pages.at(-1)!.locator('.messages', { hasText: 'after the first tab' }).waitFor()
    expect(streams()).toBe(1)
  })

  test('an open page says that updates are paused when its session has ended', async () => {
    const { page } = visitor
    await page.goto(thread)
    await waitFor('the stream', () => streams() === 1)
    await grid.store.write([grid.store.global.sessions.endOthers(user, '', grid.clock.now)])
    await page.getByText('Updates paused.').waitFor()
    expect(await page.getByRole('link', { name: 'Reload' }).count()).toBe(1)
    // The notice covers nothing, because the content below the header moved down.
    for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      await page.setViewportSize(viewport)
      const [paused, pane, scrolled] = await Promise.all([
        page.locator('.live-paused').boundingBox(),
        page.locator('#content').boundingBox(),
        page.evaluate('document.documentElement.scrollHeight > innerHeight'),
      ])
      expect(pane!.y).toBeGreaterThanOrEqual(paused!.y + paused!.height)
      expect(scrolled).toBe(false)
      await screenshot(page, `paused-${viewport.width}`)
    }
  })
})
