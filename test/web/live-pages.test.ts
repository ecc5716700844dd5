/** Open pages other than conversations, in a real browser: an agent, a channel, and Attention. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createChannel } from '../../src/grid/channels/channels.ts'
import { readMessages } from '../../src/grid/messaging/read-messages.ts'
import { waitForMessages } from '../../src/grid/messaging/wait-for-messages.ts'
import { hour } from '../../src/lib/time.ts'
import { hasBrowser, useBrowser, type Visitor } from '../support/browser.ts'
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
  let home: string
  let unfollow: () => Promise<void>
  beforeEach(async () => {
    grid = await liveGrid({ host: 'localhost' })
    unfollow = following(grid.store)
    home = `${grid.url}/accounts/${grid.acme.id}`
    visitor = await visit()
    const { cookies } = await signedIn(grid, await person(grid, { role: 'owner' }))
    await visitor.context.addCookies([...cookies].map(([name, value]) => ({ name, value, url: grid.url })))
  })
  afterEach(async () => {
    await visitor.close()
    await unfollow()
  })

  async function open(path: string) {
    await visitor.page.goto(`${home}/${path}`)
    await waitFor('the stream', () => grid.store.waiting.pages.count === 1)
    return visitor.page
  }

  test('an open page of an agent shows its messages, their states, its queue, and that the agent waits', async () => {
    await say(grid, storeOf(grid, grid.bob), 'alice', 'an older message')
    const page = await open('agents/bob')
    await page.locator('.menu.user summary').focus()
    await sendMessage(storeOf(grid, grid.alice), { to: 'bob', text: 'a new message' })
    await page.locator('.messages', { hasText: 'a new message' }).waitFor()
    await page.locator('.facts, dl').getByText('1 unread').first().waitFor()

    const { lease } = await readMessages(storeOf(grid, grid.bob), { limit: 10 })
    expect(lease).toBeDefined()
    await page.locator('.messages > li:last-child .state.leased').first().waitFor()
    const connection = new AbortController()
    const waiting = waitForMessages(storeOf(grid, grid.bob), { limit: 10 }, { seconds: 50, caller: connection })
    await page.locator('.facts .badge', { hasText: 'waiting' }).first().waitFor()
    connection.abort()
    await expect(waiting).rejects.toThrow('disconnected')
    await page.locator('.facts .badge', { hasText: 'waiting' }).first().waitFor({ state: 'detached' })

    expect(await page.locator('.messages > li[id]').count()).toBe(2)
    expect(await page.locator('.menu.user summary:focus').count()).toBe(1)
    expect(visitor.faults).toEqual([])
  })

  test('an open page of a channel shows its first post and later ones', async () => {
    const members = [grid.alice.id, grid.bob.id]
    const { channel } = await createChannel(grid.acme.store, { name: 'incidents', members })
    const page = await open(`channels/${channel.id}`)
    await page.getByText('No messages yet').waitFor()
    await sendMessage(storeOf(grid, grid.alice), { to: '#incidents', text: 'the first post' })
    await page.locator('.messages', { hasText: 'the first post' }).waitFor()
    await sendMessage(storeOf(grid, grid.bob), { to: '#incidents', text: 'the second post' })
    await page.locator('.messages', { hasText: 'the second post' }).waitFor()

    expect(await page.locator('.messages > li[id]').count()).toBe(2)
    expect(visitor.faults).toEqual([])
  })

  test('an open Attention page shows new rows and their number, and keeps an open menu open', async () => {
    await say(grid, storeOf(grid, grid.alice), 'bob', 'for bob')
    grid.clock.now += 2 * hour
    const page = await open('attention')
    await page.locator('.needs summary').click()
    await say(grid, storeOf(grid, grid.bob), 'alice', 'for alice')
    grid.clock.now += 2 * hour
    await page.locator('.needs li', { hasText: '@alice has not read' }).waitFor()

    expect(await page.locator('.side .count').textContent()).toBe('2open')
    expect(await page.locator('.needs details[open]').count()).toBe(1)
    expect(visitor.faults).toEqual([])
  })
})
