/** A task from its message to its end, seen by both agents. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callingAgent } from '../../../src/auth/actor.ts'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { continueTask } from '../../../src/grid/tasks/start-task.ts'
import { cancelTask, getTask, listTasks } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { type TestGrid, testGrid } from '../../support/grid.ts'
import { sendMessage } from '../../support/messaging.ts'
import { askFor, eventsOf, inShort, storeOf } from '../../support/tasks.ts'

let grid: TestGrid
let client: AccountStore
let bob: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  client = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
})
afterEach(() => grid.close())

test('a message becomes a task, which is read, answered and completed', async () => {
  const asked = await askFor(client, 'a question')
  expect(asked).toMatchObject({ recipient: 'bob', generation: 1, status: { state: 'submitted' }, artifacts: [] })
  const { messages: [message] } = await readMessages(bob, {})
  expect(message).toMatchObject({ message: 'a question', task_id: asked.id })
  expect((await getTask(client, asked.id)).status.state).toBe('working')

  const reply = await sendMessage(bob, { to: '@alice', text: 'an answer', replyToMessageId: message.message_id })

  expect(reply.taskId).toBe(asked.id)
  const task = await getTask(client, asked.id)
  expect(task).toMatchObject({
    generation: 4,
    status: { state: 'completed' },
    history: [{ role: 'user', messageId: 'id of a question', parts: [{ text: 'a question' }] }],
    artifacts: [{ artifactId: reply.id, parts: [{ text: 'an answer' }] }],
  })
  expect(inShort(await eventsOf(client, asked.id))).toEqual(['submitted', 'working', 'an answer', 'completed'])
  // The answer is in the task alone.
  expect((await readMessages(client, {})).messages).toEqual([])
})

test('an answer without a reference completes the newest task of its recipient', async () => {
  const [first, second] = [await askFor(client, 'first'), await askFor(client, 'second')]

  await sendMessage(bob, { to: '@alice', text: 'two' })
  await sendMessage(bob, { to: '@alice', text: 'one' })
  await sendMessage(bob, { to: '@alice', text: 'something else' })

  expect((await getTask(client, second.id)).artifacts[0].parts).toEqual([{ text: 'two' }])
  expect((await getTask(client, first.id)).artifacts[0].parts).toEqual([{ text: 'one' }])
  const { messages } = await readMessages(client, {})
  expect(messages.map(({ message }) => message)).toEqual(['something else'])
})

test('a recipient asks back, and the client goes on with the same task', async () => {
  const { id, contextId } = await askFor(client, 'a question')
  await updateTask(bob, { taskId: id, state: 'working', text: 'looking' })
  await updateTask(bob, { taskId: id, state: 'working' })
  await updateTask(bob, { taskId: id, state: 'input-required', text: 'which one?' })

  const message = { messageId: 'more', parts: [{ text: 'the red one' }] }
  const { task } = await continueTask(client, callingAgent(client.actor), { taskId: id, contextId, message })
  expect(task.status.state).toBe('working')
  await updateTask(bob, { taskId: id, text: 'here', parts: [{ data: { red: true } }] })

  const done = await getTask(client, id)
  expect(done.history.map(({ role, parts }) => [role, parts])).toEqual([
    ['user', [{ text: 'a question' }]],
    ['agent', [{ text: 'looking' }]],
    ['agent', [{ text: 'which one?' }]],
    ['user', [{ text: 'the red one' }]],
  ])
  expect(done.artifacts[0].parts).toEqual([{ text: 'here' }, { data: { red: true } }])
  const events = await eventsOf(client, id)
  expect(inShort(events)).toEqual([
    'submitted',
    'working',
    'input-required',
    'working',
    'here{"data":{"red":true}}',
    'completed',
  ])
  expect(events.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6])
  expect((await getTask(client, id, { historyLength: 1 })).history).toHaveLength(1)
})

test('a canceled task takes its unread message back; a recipient that has read it is told', async () => {
  const unread = await askFor(client, 'not read')
  expect((await cancelTask(client, unread.id)).status.state).toBe('canceled')
  expect((await readMessages(bob, {})).messages).toEqual([])

  const read = await askFor(client, 'read')
  await readMessages(bob, {})
  await cancelTask(client, read.id)

  expect((await readMessages(bob, {})).messages).toMatchObject([{ type: 'system', task_id: read.id }])
  await expect(cancelTask(client, read.id)).rejects.toMatchObject({ code: 'task_not_cancelable' })
  await expect(updateTask(bob, { taskId: read.id, text: 'late' })).rejects.toMatchObject({
    code: 'unsupported_operation',
  })
})

test('tasks are listed by page, newest first', async () => {
  const ids = []
  for (const n of [1, 2, 3, 4, 5]) {
    grid.clock.now += 1000
    ids.unshift((await askFor(client, `question ${n}`)).id)
  }
  const first = await listTasks(client, { pageSize: 2 })
  grid.clock.now += 1000
  await updateTask(bob, { taskId: ids[0], text: 'done' })
  const second = await listTasks(client, { pageSize: 2, pageToken: first.nextPageToken })
  const third = await listTasks(client, { pageSize: 2, pageToken: second.nextPageToken })

  expect([first, second, third].flatMap(({ tasks }) => tasks.map(({ id }) => id))).toEqual(ids)
  expect(first).toMatchObject({ totalSize: 5, pageSize: 2 })
  expect(third.nextPageToken).toBe('')
  expect((await listTasks(client, { pageSize: 5, state: 'completed' })).tasks.map(({ id }) => id)).toEqual([ids[0]])
  await expect(listTasks(client, { pageSize: 5, pageToken: second.nextPageToken, state: 'completed' })).rejects
    .toMatchObject({ code: 'invalid_input' })
  await expect(listTasks(client, { pageSize: 101 })).rejects.toMatchObject({ code: 'invalid_input' })
})
