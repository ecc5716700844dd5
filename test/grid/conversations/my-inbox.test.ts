/** The inbox of a person, and what reading changes for others. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createChannel } from '../../../src/grid/channels/channels.ts'
import { markAllRead, markRead, markUnread, myInbox } from '../../../src/grid/conversations/marks.ts'
import { writeMessage } from '../../../src/grid/conversations/write.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { minute } from '../../../src/lib/time.ts'
import { dump } from '../../support/database.ts'
import { type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { guard } from '../../support/guarded.ts'
import { sendMessage } from '../../support/messaging.ts'
import { member, seated, type SeatedPerson } from '../../support/seats.ts'

let grid: TestGrid
let ann: SeatedPerson
beforeEach(async () => {
  grid = await testGrid()
  ann = await seated(grid, 'ann')
})
afterEach(() => grid.close())

const as = ({ id, alias }: TestAgent) =>
  grid.store.account(grid.acme.id, { type: 'agent', agentId: id, alias, credentialId: 'test' })
const texts = (messages: { message: string }[]) => messages.map(({ message }) => message)

test('the newest first, direct messages and posts, page by page; looking marks nothing', async () => {
  await createChannel(grid.acme.store, { name: 'team', members: ['ann', 'alice'] })
  for (let n = 1; n <= 4; n++) await sendMessage(as(grid.alice), { to: '@ann', text: `direct ${n}` })
  await sendMessage(as(grid.alice), { to: '#team', text: 'a post' })
  await sendMessage(as(grid.alice), { to: '@bob', text: 'not for ann' })
  const before = await dump(grid, grid.acme, ['agents'])

  const first = await myInbox(ann.account, { limit: 3 })
  const second = await myInbox(ann.account, { limit: 3, before: first.before })

  expect(texts(first.messages)).toEqual(['a post', 'direct 4', 'direct 3'])
  expect(texts(second.messages)).toEqual(['direct 2', 'direct 1'])
  expect(first).toMatchObject({ unread: 5, messages: [{ isUnread: true }, { isUnread: true }, { isUnread: true }] })
  expect(second.before).toBeUndefined()
  expect(await dump(grid, grid.acme, ['agents'])).toBe(before)
})

test('marking as read tells the sender, as a read of an agent does, and unread takes it back', async () => {
  const { id } = await sendMessage(as(grid.alice), { to: '@ann', text: 'one' })
  const { id: other } = await sendMessage(as(grid.alice), { to: '@ann', text: 'two' })
  grid.clock.now += minute

  expect(await markRead(ann.account, [id])).toEqual({ read: [id] })
  expect(await markRead(ann.account, [id])).toEqual({ read: [] })

  const status = await messageStatus(as(grid.alice), id)
  expect(status).toMatchObject({ delivery: 'read', readBy: [{ alias: 'ann', readAt: grid.clock.now }] })
  expect((await messageStatus(as(grid.alice), other)).delivery).toBe('queued')
  expect(texts((await myInbox(ann.account, { isUnread: true })).messages)).toEqual(['two'])
  expect((await myInbox(ann.account)).messages.map(({ isUnread }) => isUnread)).toEqual([true, false])

  expect(await markUnread(ann.account, [id, other])).toEqual({ unread: [id] })
  expect(await messageStatus(as(grid.alice), id)).toMatchObject({ delivery: 'queued', readBy: [] })
})

test('all are read up to the newest that was shown, and not what came after it', async () => {
  for (const text of ['one', 'two']) await sendMessage(as(grid.alice), { to: '@ann', text })
  const { messages: [newest] } = await myInbox(ann.account)
  await sendMessage(as(grid.alice), { to: '@ann', text: 'three' })

  expect(await markAllRead(ann.account, newest.seq)).toEqual({ read: 2 })
  expect(texts((await myInbox(ann.account, { isUnread: true })).messages)).toEqual(['three'])
})

test('messages of others are neither shown nor marked, whoever asks', async () => {
  const { id } = await sendMessage(as(grid.alice), { to: '@bob', text: 'for bob' })
  const ben = await seated(grid, 'ben', { role: 'owner' })
  const { id: forAnn } = await sendMessage(as(grid.alice), { to: '@ann', text: 'for ann' })
  const before = await dump(grid, grid.acme, ['agents'])

  expect((await myInbox(ben.account)).messages).toEqual([])
  expect(await markRead(ben.account, [id, forAnn])).toEqual({ read: [] })
  expect(await markUnread(ben.account, [id, forAnn])).toEqual({ unread: [] })
  expect(await dump(grid, grid.acme, ['agents'])).toBe(before)
  expect(texts((await readMessages(as(grid.bob), {})).messages)).toEqual(['for bob'])
})

test('a guardrail checks what a person writes and gets, and a person is seen', async () => {
  await grid.close()
  grid = await testGrid()
  ann = await seated(grid, 'ann')
  const seen = () => ann.account.read.agents.byAlias('ann')
  expect((await seen())?.lastSeenAt).toBeNull()
  await guard(grid.acme, 'ann', { direction: 'both', action: 'block' })

  await expect(sendMessage(as(grid.alice), { to: '@ann', text: 'swordfish' })).rejects.toMatchObject({
    code: 'guardrail_blocked',
  })
  await expect(writeMessage(ann.account, { to: '@alice', text: 'swordfish' })).rejects.toMatchObject({
    code: 'guardrail_blocked',
  })
  await sendMessage(as(grid.alice), { to: '@ann', text: 'hi' })
  expect((await seen())?.lastSeenAt).toBe(grid.clock.now)
})

test('who has no alias has no inbox', async () => {
  for (const role of ['owner', 'viewer'] as const) {
    const { account } = await member(grid, { role })
    for (const call of [myInbox(account), markRead(account, []), markUnread(account, []), markAllRead(account, 9)]) {
      await expect(call).rejects.toMatchObject({ code: role === 'viewer' ? 'not_allowed' : 'alias_required' })
    }
  }
})
