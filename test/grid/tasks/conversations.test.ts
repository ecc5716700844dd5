/** Tasks in the conversations of people, and beside agents that have none. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { messageStatus } from '../../../src/grid/messaging/message-status.ts'
import { findMessages, receiptsOf } from '../../../src/grid/conversations/messages.ts'
import { listThreads } from '../../../src/grid/conversations/threads.ts'
import { cancelTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { followLog } from '../../../src/worker/threads.ts'
import { rows } from '../../support/database.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, storeOf } from '../../support/tasks.ts'

let grid: TestGrid
let client: AccountStore
let bob: AccountStore
let statements: string[]
beforeEach(async () => {
  statements = []
  grid = await testGrid({ inspect: (sql) => statements.push(sql) })
  client = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
})
afterEach(() => grid.close())

test('answers, questions and notes of a task stand in its conversation, and cancellations are shown', async () => {
  const asked = await askFor(client, 'a question')
  await updateTask(bob, { taskId: asked.id, state: 'input-required', text: 'which one?' })
  const answer = await sendMessage(bob, { to: '@alice', text: 'an answer' })
  const canceled = await askFor(client, 'never mind', { contextId: asked.contextId })
  await cancelTask(client, canceled.id)
  await followLog(grid.store)

  const { threads } = await listThreads(grid.acme.store, {})
  expect(threads).toMatchObject([{ kind: 'conversation', messages: 4 }])
  const seqs = (await rows(grid, 'SELECT seq FROM messages WHERE account_id = ? ORDER BY seq', [grid.acme.id]))
    .map(({ seq }) => Number(seq))
  const shown = await findMessages(grid.acme.store, seqs)
  expect(shown.map(({ fromAlias, body }) => [fromAlias, body])).toEqual([
    ['alice', 'a question'],
    ['bob', 'which one?'],
    ['bob', 'an answer'],
    ['alice', 'never mind'],
  ])
  const receipts = await receiptsOf(grid.acme.store, seqs)
  expect(seqs.map((seq) => receipts.get(seq)!.recipient!.state)).toEqual(['unread', 'read', 'read', 'withdrawn'])
  expect((await messageStatus(bob, answer.id)).delivery).toBe('read')
})
