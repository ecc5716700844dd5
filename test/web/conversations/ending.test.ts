/** A person can set when a message expires, and can retract it. docs/delivery.md, "Messages that end". */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { markRead, markUnread } from '../../../src/grid/conversations/marks.ts'
import { placeOfSent, writeMessage } from '../../../src/grid/conversations/write.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { retractMessage } from '../../../src/grid/messaging/retract-message.ts'
import { minute } from '../../../src/lib/time.ts'
import { expireMessages } from '../../../src/worker/retention.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { callTool } from '../../support/mcp.ts'
import { type WritingGrid, writingGrid } from '../../support/writing.ts'

let site: WritingGrid<TestGrid>
beforeEach(async () => {
  site = await writingGrid(await testGrid())
})
afterEach(() => site.close())

const read = async () => (await callTool(site.grid, site.grid.bob.key, 'read_messages')).text

test('a message written with an expiry expires, and its conversation shows this', async () => {
  const { grid, browser, path } = site
  const sent = await browser.submit(path('write'), { to: '@bob', text: 'For 10 minutes', expires: '600' })
  const page = await browser.open(sent.at)
  const thread = sent.at.split('#')[0]
  const answer = { text: 'For an hour', expires: '3600' }
  await browser.send(page, answer, `${thread}/messages`)
  const wrong = await browser.send(page, { ...answer, expires: '5' }, `${thread}/messages`)
  expect(wrong.status).toBe(400)

  grid.clock.now += 10 * minute
  await expireMessages(grid.store)

  expect((await browser.open(thread)).text).toMatch(/For 10 minutes .*expired before it was read.*For an hour/)
  expect((await read()).map(({ message }: { message: string }) => message)).toEqual(['For an hour'])
})

test('a person can retract an unread message, and sees it as retracted', async () => {
  const { browser, path } = site
  const sent = await browser.submit(path('write'), { to: '@bob', text: 'A mistake' })
  const link = sent.html.match(/<a href="([^"]+)">Retract<\/a>/)![1]

  const page = await browser.submit(link, {}, `${link}/retract`)

  expect(page.text).toContain('The message is retracted.')
  const shown = await browser.open(sent.at)
  expect(shown.text).toMatch(/Retracted .*retracted before it was read/)
  expect(shown.text).not.toContain('A mistake')
  expect(shown.html).not.toContain('>Retract</a>')
  expect(await read()).toEqual([])
})

test('a message that was read, or that others wrote, cannot be retracted', async () => {
  const { grid, browser, path, tell } = site
  const sent = await browser.submit(path('write'), { to: '@bob', text: 'Hello' })
  const link = sent.html.match(/<a href="([^"]+)">Retract<\/a>/)![1]
  const page = await browser.open(link)
  await read()
  expect((await browser.send(page, {}, `${link}/retract`)).text).toContain('A reader already has this message')
  expect((await browser.open(sent.at)).html).not.toContain('>Retract</a>')

  const { seq, thread } = await tell(grid.alice, '@ann', 'Mine')
  expect((await browser.open(path('conversations', thread))).html).not.toContain('>Retract</a>')
  const csrf = page.html.match(/name="csrf" value="([^"]+)"/)![1]
  expect((await browser.post(path('messages', seq, 'retract'), { csrf })).status).toBe(404)
})

test('a person who has not read a message cannot see its text once it is retracted', async () => {
  const { grid, browser, path, tell } = site
  const { id, thread } = await tell(grid.alice, '@ann', 'Too early')
  await retractMessage(storeOf(grid, grid.alice), { agentId: grid.alice.id, alias: 'alice' }, id)

  const { text } = await browser.open(path('conversations', thread))

  expect(text).toContain('Retracted')
  expect(text).not.toContain('Too early')
})

test('a message that a person has read does not expire after being marked unread', async () => {
  const { grid, ann, tell } = site
  const { id } = await tell(grid.alice, '@ann', 'For a while', { expiresInSeconds: 10 })
  await markRead(ann.account, [id])
  await markUnread(ann.account, [id])
  grid.clock.now += minute
  await expireMessages(grid.store)

  expect((await messageStatus(storeOf(grid, grid.alice), id)).delivery).toBe('queued')
})

test('a post shows for how many members it expired, and whether it was retracted', async () => {
  const { grid, ann, browser, path } = site
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice', 'bob'] })
  const post = async () => (await writeMessage(ann.account, { to: '#team', text: 'Post', expiresInSeconds: 10 })).id
  const expiring = await post()
  await read()
  const retracted = await post()
  await retractMessage(ann.account, { agentId: ann.personAlias.agentId, alias: 'ann' }, retracted)
  grid.clock.now += minute
  await expireMessages(grid.store)

  await placeOfSent(ann.account, retracted)
  const { threadId } = (await placeOfSent(ann.account, expiring))!
  const { text } = await browser.open(path('conversations', threadId))
  expect(text).toMatch(/1 of 2 read, expired for 1 .*retracted before it was read/)
})
