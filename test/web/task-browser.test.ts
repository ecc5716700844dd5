/** A task's states in a browser, with its conversation and the task list open. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listThreads } from '../../src/grid/conversations/threads.ts'
import { hasBrowser, screenshot, useBrowser, type Visitor } from '../support/browser.ts'
import { storeOf } from '../support/grid.ts'
import { callTool } from '../support/mcp.ts'
import { signedInByEmail } from '../support/people.ts'
import { type LiveGrid, liveGrid } from '../support/server.ts'
import { askFor } from '../support/tasks.ts'
import { waitFor } from '../support/wait-for.ts'
import { signIn, type WritingGrid, writingGrid } from '../support/writing.ts'

describe.skipIf(!hasBrowser)('in Chromium', { timeout: 300_000 }, () => {
  const visit = useBrowser()
  const visitors: Visitor[] = []
  let site: WritingGrid<LiveGrid>
  beforeAll(async () => {
    site = await writingGrid(await liveGrid())
    const owner = await signedInByEmail(site.grid, 'ann@acme.example')
    for (const visitor of [await visit(), await visit()]) {
      visitors.push(visitor)
      await signIn(visitor, owner, site.grid.url)
    }
  })
  afterAll(async () => {
    for (const visitor of visitors) await visitor.close()
    await site?.close()
  })

  test("a task's states appear in its conversation and in the task list as they change", async () => {
    const { grid, path } = site
    const [conversation, list] = visitors.map(({ page }) => page)
    // Disables the list's refresh, which would happen within a minute.
    await list.addInitScript('const every = setInterval; setInterval = (run, ms) => ms === 60000 ? 0 : every(run, ms)')
    await list.goto(grid.url + path('tasks'))
    await waitFor('the stream', () => grid.store.waiting.pages.count === 1)
    // A page reload would remove this mark.
    await list.evaluate('window.isFirstLoad = true')
    const chips = conversation.locator('.messages .task summary')
    const row = list.locator('tr', { hasText: 'Count the rows' })

    const { id } = await askFor(storeOf(grid, grid.alice), 'Count the rows')
    await row.filter({ hasText: 'submitted' }).waitFor()
    const [thread] = (await listThreads(grid.acme.store, {})).threads
    await conversation.goto(grid.url + path('conversations', thread.id))
    await chips.filter({ hasText: 'submitted' }).waitFor()
    await waitFor('both streams', () => grid.store.waiting.pages.count === 2)
    await conversation.evaluate('window.isFirstLoad = true')
    const updates = [
      [{ state: 'working' }, 'working'],
      [{ state: 'input-required', text: 'Of which table?' }, 'input required'],
      [{ state: 'completed', text: 'Twelve' }, 'completed'],
    ] as const
    for (const [update, shown] of updates) {
      const { code } = await callTool(grid, grid.bob.key, 'update_task', { task_id: id, ...update })
      expect(code).toBeUndefined()
      await chips.filter({ hasText: shown }).first().waitFor()
      await row.filter({ hasText: shown }).waitFor()
    }

    await chips.first().click()
    const steps = conversation.locator('.messages .task').first().locator('li > span:first-child')
    expect(await steps.allTextContents()).toEqual(['submitted', 'working', 'input required', 'completed'])
    for (const page of [conversation, list]) expect(await page.evaluate('window.isFirstLoad')).toBe(true)
    await screenshot(conversation, 'task-conversation')
    await screenshot(list, 'task-list')
    expect(visitors.flatMap(({ faults }) => faults)).toEqual([])
  })
})
