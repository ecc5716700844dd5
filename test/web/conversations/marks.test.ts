/** People mark messages as read and unread, on pages without script. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { followLog } from '../../../src/worker/followers.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { csrfTokenOf, person, signedIn } from '../../support/people.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let site: WritingGrid<TestGrid>
beforeEach(async () => {
  site = await writingGrid(await testGrid())
})
afterEach(() => site.close())

/** Returns the texts of an agent's unread messages, oldest first. */
async function unreadOf(agent: string): Promise<unknown[]> {
  const found = await rows(
    site.grid,
    `SELECT m.body FROM v_deliveries d JOIN messages m ON m.seq = d.seq
     WHERE d.account_id = ? AND d.agent_id = ? AND d.state = 'unread' ORDER BY m.seq`,
    [site.grid.acme.id, agent],
  )
  return found.map(({ body }) => body)
}

test("Mark read applies to the page's messages in this conversation only, and Mark unread undoes it", async () => {
  const { grid, ann, browser, path, tell } = site
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice', 'bob'] })
  const first = await tell(grid.alice, '@ann', 'one')
  await tell(grid.alice, '@ann', 'two')
  await tell(grid.bob, '@ann', 'from bob')
  await tell(grid.alice, '#team', 'to the team')
  const thread = path('conversations', first.thread)
  const page = await browser.open(`${thread}?show=you`)
  await tell(grid.alice, '@ann', 'three')

  const marked = await browser.send(page, {}, `${thread}/read`)
  expect(marked.at).toMatch(new RegExp(`^${thread}\\?show=you#m\\d+$`))
  expect(await unreadOf(ann.personAlias.agentId)).toEqual(['from bob', 'to the team', 'three'])
  // The channel's post stays unread for its other reader.
  expect(await unreadOf(grid.bob.id)).toEqual(['to the team'])

  const unread = await browser.post(`${thread}/unread`, {
    csrf: await csrfTokenOf(browser, thread),
    from: `${first.seq}`,
  })
  expect(unread.at).toBe(path('conversations'))
  expect(unread.text).toContain('You 5 unread')
  expect(await unreadOf(ann.personAlias.agentId)).toEqual(['one', 'two', 'from bob', 'to the team', 'three'])
})

test('a script marks messages in view one by one, and gets a response without a page', async () => {
  const { grid, ann, browser, path, tell } = site
  const first = await tell(grid.alice, '@ann', 'one')
  const second = await tell(grid.alice, '@ann', 'two')
  const other = await tell(grid.bob, '@ann', 'from bob')
  const csrf = await csrfTokenOf(browser, path('write'))
  const fields: [string, string][] = [['csrf', csrf], ['by', 'view'], ['m', `${second.seq}`], ['m', `${other.seq}`]]

  const answer = await browser.post(path('conversations', first.thread, 'read'), fields)

  expect(answer).toMatchObject({ status: 204, html: '' })
  expect(await unreadOf(ann.personAlias.agentId)).toEqual(['one', 'from bob'])
})

test('a channel post is marked as read for its reader only', async () => {
  const { grid, ann, browser, path, tell } = site
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice', 'bob'] })
  const post = await tell(grid.alice, '#team', 'to the team')

  await browser.submit(path('conversations', post.thread), {}, path('conversations', post.thread, 'read'))

  expect(await unreadOf(ann.personAlias.agentId)).toEqual([])
  expect(await unreadOf(grid.bob.id)).toEqual(['to the team'])
})

test("a person cannot mark other people's messages", async () => {
  const { grid, path, tell } = site
  const pair = await tell(grid.alice, '@bob', 'between us')
  const olga = await signedIn(grid, await person(grid, { role: 'owner' }))
  await olga.submit(path('write'), { alias: 'olga', to: '@alice', text: 'Hi' })
  const csrf = await csrfTokenOf(olga, path('write'))
  const thread = path('conversations', pair.thread)

  expect((await olga.post(`${thread}/read`, { csrf, upTo: `${pair.seq}` })).status).toBe(200)
  expect((await olga.post(`${thread}/unread`, { csrf, from: `${pair.seq}` })).status).toBe(200)

  expect(await unreadOf(grid.bob.id)).toEqual(['between us'])
  expect(await unreadOf(grid.alice.id)).toEqual(['Hi'])
})

test("a person's own messages are not marked as new to them, but later ones are", async () => {
  const { grid, ann, browser, path, tell } = site
  const { thread } = await tell(grid.alice, '@ann', 'one')
  const page = path('conversations', thread)
  await browser.send(await browser.open(page), {}, `${page}/read`)
  await writeMessage(ann.account, { to: '@alice', text: 'own' })
  await followLog(grid.store)
  expect((await browser.open(page)).html).not.toContain('id="new"')

  await writeMessage(ann.account, { to: '@alice', text: 'own again' })
  const { seq } = await tell(grid.alice, '@ann', 'two')
  expect((await browser.open(page)).html).toMatch(new RegExp(`id="new">New</li><li id="m${seq}"`))
})

test('Next unread leads to the oldest unread message in another conversation, or says that there is none', async () => {
  const { grid, browser, path, tell } = site
  const first = await tell(grid.alice, '@ann', 'one')
  const second = await tell(grid.bob, '@ann', 'two')

  const page = await browser.open(path('conversations', first.thread))
  expect(page.html).toContain(`href="${path('next-unread')}?after=${first.thread}"`)
  const next = await browser.open(`${path('next-unread')}?after=${first.thread}`)
  expect(next.at).toBe(`${path('conversations', second.thread)}?m=${second.seq}#m${second.seq}`)

  for (const { thread } of [first, second]) {
    await browser.submit(path('conversations', thread), {}, path('conversations', thread, 'read'))
  }
  const none = await browser.open(path('next-unread'))
  expect(none.text).toContain('You have read all messages to you.')
  expect((await browser.open(path('conversations', first.thread))).html).not.toContain(path('next-unread') + '?')
})
