/** A receipt's information on a task that the sender works on (docs/protocol/messages.md, "Receipts"). */
import { beforeEach, expect, test } from 'vitest'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../../support/grid.ts'
import { hold } from '../../support/held.ts'
import { post } from '../../support/inbox.ts'
import { callTool } from '../../support/mcp.ts'
import { askFor } from '../../support/tasks.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

const ask = (text: string, more: object = {}, from: TestAgent = grid.alice) => askFor(storeOf(grid, from), text, more)
async function send(from: TestAgent, to: string, more: object = {}) {
  return (await callTool(grid, from.key, 'send_message', { to, message: 'hi', ...more })).text
}
const read = async ({ key }: TestAgent) => (await callTool(grid, key, 'read_messages')).text

test('the receipt of a message to the client of an open task names the task, and says how to answer', async () => {
  const { id } = await ask('a question')
  const carol = await grid.acme.agent('carol')
  expect(await send(grid.bob, '@alice')).not.toHaveProperty('open_task')

  const [{ note }] = await read(grid.bob)
  const left = { open_task: id, note: `Your task from @alice is still open. ${note}` }
  expect(await send(grid.bob, '@alice', { idempotency_key: 'k' })).toMatchObject(left)
  expect((await post(grid, grid.bob.key, { to: '@alice', message: 'hi' })).body).toMatchObject(left)
  for (const [from, to] of [[carol, '@alice'], [grid.alice, '@bob'], [grid.bob, '@carol']] as const) {
    expect(await send(from, to)).not.toHaveProperty('open_task')
  }
  await callTool(grid, grid.bob.key, 'update_task', { task_id: id, state: 'completed' })
  expect(await send(grid.bob, '@alice')).not.toHaveProperty('open_task')
  expect(await send(grid.bob, '@alice', { idempotency_key: 'k' })).toMatchObject(left)
})

test('the receipt of an answer names the task that it completed, and no others', async () => {
  const { id } = await ask('a question')
  const other = await ask('another question')
  const [question] = await read(grid.bob)

  const answer = await send(grid.bob, '@alice', { reply_to_message_id: question.message_id })
  expect(answer).toMatchObject({ task_id: id })
  expect(answer).not.toHaveProperty('open_task')
  expect(answer).not.toHaveProperty('note')
  expect(await send(grid.bob, '@alice')).toMatchObject({ open_task: other.id })
})

test('the receipt of an answer that waits for approval names no open task', async () => {
  await ask('a question')
  const [question] = await read(grid.bob)
  await hold(grid.acme.store)

  const answer = await send(grid.bob, '@alice', { reply_to_message_id: question.message_id })
  expect(answer).toMatchObject({ held: expect.anything() })
  expect(answer).not.toHaveProperty('open_task')
})

test('a receipt also names an open task whose client belongs to another account', async () => {
  const desk = await grid.acme.agent('desk', { visibility: 'public' })
  const { id } = await ask('a question', { to: '@desk' }, grid.eve)
  await read(desk)

  expect(await send(desk, '@eve')).toMatchObject({ open_task: id })
})
