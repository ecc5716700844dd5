/** A person's inbox, and what senders see when the person reads. */
import { beforeEach, expect, test } from 'vitest'
import { markRead, markUnread } from '../../../src/grid/conversations/marks.ts'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { minute } from '../../../src/lib/time.ts'
import { dump } from '../../support/database.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { member, type PersonWithAlias, personWithAlias } from '../../support/person-aliases.ts'

let grid: TestGrid
let ann: PersonWithAlias
beforeEach(async () => {
  grid = await testGrid()
  ann = await personWithAlias(grid, 'ann')
})

const texts = (messages: { message: string }[]) => messages.map(({ message }) => message)

test('marking a message as read is visible to its sender, and marking it as unread undoes this', async () => {
  const { id } = await sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'one' })
  const { id: other } = await sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'two' })
  grid.clock.now += minute

  expect(await markRead(ann.account, [id])).toEqual({ read: [id] })
  expect(await markRead(ann.account, [id])).toEqual({ read: [] })

  const status = await messageStatus(storeOf(grid, grid.alice), id)
  expect(status).toMatchObject({ delivery: 'read', readBy: [{ alias: 'ann', readAt: grid.clock.now }] })
  expect((await messageStatus(storeOf(grid, grid.alice), other)).delivery).toBe('queued')
  expect((await ann.account.read.inbox.nextUnread(ann.personAlias.agentId, 9, grid.clock.now)).map(({ body }) => body))
    .toEqual(['two'])

  expect(await markUnread(ann.account, [id, other])).toEqual({ unread: [id] })
  expect(await messageStatus(storeOf(grid, grid.alice), id)).toMatchObject({ delivery: 'queued', readBy: [] })
})

test("a person can neither see nor mark other people's messages", async () => {
  const { id } = await sendMessage(storeOf(grid, grid.alice), { to: '@bob', text: 'for bob' })
  const ben = await personWithAlias(grid, 'ben', { role: 'owner' })
  const { id: forAnn } = await sendMessage(storeOf(grid, grid.alice), { to: '@ann', text: 'for ann' })
  const before = await dump(grid, grid.acme, ['agents'])

  expect(await markRead(ben.account, [id, forAnn])).toEqual({ read: [] })
  expect(await markUnread(ben.account, [id, forAnn])).toEqual({ unread: [] })
  expect(await dump(grid, grid.acme, ['agents'])).toBe(before)
  expect(texts((await readMessages(storeOf(grid, grid.bob), {})).messages)).toEqual(['for bob'])
})

test('a user without an alias has no inbox', async () => {
  for (const role of ['owner', 'viewer'] as const) {
    const { account } = await member(grid, { role })
    for (const call of [markRead(account, []), markUnread(account, [])]) {
      await expect(call).rejects.toMatchObject({ code: role === 'viewer' ? 'not_allowed' : 'alias_required' })
    }
  }
})
