/** What a real peer or an official suite of A2A notices, as a list of numbers: tasks and streams. See `checklist.test.ts`. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sendMessage } from '../../src/grid/messaging/send-message.ts'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import {
  endpoint,
  endpointOf,
  inboxOf,
  openA2aStream,
  postA2a,
  request,
  send03,
  send10,
  storeOf,
} from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})
afterEach(() => grid.close())

const methods = {
  '0.3': ['tasks/get', 'tasks/cancel', 'tasks/resubscribe'],
  '1.0': ['GetTask', 'CancelTask', 'SubscribeToTask'],
}

test('10: a list has four fields, pages of 1 to 100, and the tasks of the caller alone', async () => {
  const ids = [await start(), await start(), await start()]
  const { result } = (await post(request('ListTasks', { pageSize: 2 }))).body
  const last = (await post(request('ListTasks', { pageSize: 2, pageToken: result.nextPageToken }))).body.result

  expect(Object.keys(result).sort()).toEqual(['nextPageToken', 'pageSize', 'tasks', 'totalSize'])
  expect([...result.tasks, ...last.tasks].map(({ id }) => id).sort()).toEqual(ids.sort())
  expect([result.totalSize, last.nextPageToken]).toEqual([3, ''])
  for (const pageSize of [0, 101]) {
    expect((await post(request('ListTasks', { pageSize }))).body.error.code).toBe(-32602)
  }
  expect((await post(request('ListTasks'), grid.bob.key)).body.result.totalSize).toBe(0)
})

test('11: the history has the messages in order, as many as asked for', async () => {
  const configuration = { returnImmediately: true, historyLength: 0 }
  const { task } = (await post(send10({ parts: [{ text: 'one' }] }, { configuration }))).body.result
  expect(task).not.toHaveProperty('history')
  await post(send10({ taskId: task.id, messageId: 'm-2', parts: [{ text: 'two' }] }, { configuration }))
  const texts = async (historyLength?: number) =>
    (await post(request('GetTask', { id: task.id, historyLength }))).body.result.history
      ?.map(({ parts: [{ text }] }: { parts: { text: string }[] }) => text)

  expect([await texts(), await texts(1), await texts(0)]).toEqual([['one', 'two'], ['two'], undefined])
})

test.each(['0.3', '1.0'] as const)('12: in %s ended, foreign and missing tasks have their errors', async (version) => {
  const [, cancel] = methods[version]
  const send = version === '0.3' ? send03 : send10
  const id = await start()
  const codeOf = async (body: unknown, key?: string) => (await post(body, key)).body.error.code

  expect(await codeOf(request(cancel, { id }), grid.eve.key)).toBe(-32001)
  expect(await codeOf(request(cancel, { id }), grid.bob.key)).toBe(-32001)
  expect(await codeOf(send({ taskId: id, contextId: 'other' }))).toBe(-32602)
  expect((await post(send({ taskId: id, metadata: undefined }, atOnce))).body).toHaveProperty('result')
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: id, text: 'done' })
  expect(await codeOf(request(cancel, { id }))).toBe(-32002)
  expect(await codeOf(send({ taskId: id }))).toBe(-32004)
})

test.each(['0.3', '1.0'] as const)('13: in %s two subscribe, one leaves, the other sees it all', async (version) => {
  const [, , subscribe] = methods[version]
  const id = await start()
  const [left, stays] = [await open(request(subscribe, { id })), await open(request(subscribe, { id }))]
  expect(await left.next()).toEqual(await stays.next())
  await left.close()
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: id, text: 'done' })

  expect(await stays.rest()).toHaveLength(3)
  const ended = await post(request(subscribe, { id }))
  expect([ended.headers.get('content-type'), ended.body.error.code]).toEqual(['application/json', -32004])
})

test('14: to an offline agent the task comes at once, then the read, and the reply once', async () => {
  const stream = await open(
    { ...send10({ metadata: undefined }), method: 'SendStreamingMessage' },
    endpointOf(grid.bob),
  )
  expect(await stream.nextItem()).toEqual({ comment: 'ping' })
  const { result: { task } } = (await stream.next())!
  expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
  const [{ message_id }] = await inboxOf(grid, grid.bob)
  expect((await stream.next())?.result.statusUpdate.status.state).toBe('TASK_STATE_WORKING')
  const bob = storeOf(grid, grid.bob)
  await sendMessage(bob, { agentId: grid.bob.id, alias: 'bob' }, {
    to: '@alice',
    text: 'done',
    replyToMessageId: message_id,
  })

  const [reply, end, ...none] = (await stream.rest()).map(({ result }) => result)
  expect(reply.artifactUpdate).toMatchObject({ artifact: { parts: [{ text: 'done' }] }, lastChunk: true })
  expect(end.statusUpdate.status.state).toBe('TASK_STATE_COMPLETED')
  expect(none).toEqual([])
  expect(await inboxOf(grid, grid.alice)).toEqual([])
})

test('16: a message in 0.3 and in 1.0 is the same to its recipient, and each version reads the task of the other', async () => {
  const in03 = (await post(send03({ contextId: 'c' }, { configuration: { blocking: false } }))).body.result
  const in10 = (await post(send10({ contextId: 'c' }, atOnce))).body.result.task
  const [first, second] = await inboxOf(grid, grid.bob)

  const withoutIds = (message: typeof first) =>
    JSON.stringify(message).replaceAll(message.message_id, '').replaceAll(String(message.task_id), '')
  expect(withoutIds(first)).toBe(withoutIds(second))
  expect((await post(request('GetTask', { id: in03.id }))).body.result).toMatchObject({
    status: { state: 'TASK_STATE_WORKING' },
    history: [{ role: 'ROLE_USER', parts: [{ text: 'hi' }] }],
  })
  expect((await post(request('tasks/get', { id: in10.id }))).body.result).toMatchObject({
    kind: 'task',
    status: { state: 'working' },
    history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  })
})

const atOnce = { configuration: { returnImmediately: true, blocking: false } }

async function start(): Promise<string> {
  grid.clock.now += 1
  return (await post(send10({}, atOnce))).body.result.task.id
}

function open(body: unknown, path: string = endpoint) {
  return openA2aStream(grid, grid.alice.key, body, { path })
}

function post(body: unknown, key = grid.alice.key) {
  return postA2a(grid, key, body)
}
