/** Tasks over JSON-RPC in both versions: senders create, read, list, continue and cancel them. */
import { beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { endpoint, endpointOf, inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'

const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
const timestamp = '2026-11-21T09:00:00.000Z'
const atOnce03 = { configuration: { blocking: false } }
const atOnce10 = { configuration: { returnImmediately: true } }

let grid: TestGrid
let bobs: string
beforeEach(async () => {
  grid = await testGrid()
  bobs = endpointOf(grid.bob)
})

test("a 0.3 send to an agent's endpoint creates a task, which can be read in 1.0", async () => {
  const { body } = await post(send03({ metadata: undefined, contextId: 'c-1' }), bobs)
  const [message] = await inboxOf(grid, grid.bob)

  const id = body.result.id
  expect(body.result).toEqual({
    kind: 'task',
    id: uuid,
    contextId: 'c-1',
    status: { state: 'submitted', timestamp },
    history: [{
      kind: 'message',
      messageId: 'message-1',
      role: 'user',
      parts: [{ kind: 'text', text: 'hi' }],
      contextId: 'c-1',
      taskId: id,
    }],
  })
  expect(message).toMatchObject({ via: 'a2a', user: '@alice', message: 'hi', task_id: id })
  expect(message.conversation_id).not.toBe('c-1')

  const in10 = await post(request('GetTask', { id }))
  expect(in10.body.result).toEqual({
    id,
    contextId: 'c-1',
    status: { state: 'TASK_STATE_WORKING', timestamp },
    history: [{
      messageId: 'message-1',
      role: 'ROLE_USER',
      parts: [{ text: 'hi' }],
      contextId: 'c-1',
      taskId: id,
    }],
  })
})

test("a 1.0 send to an agent's endpoint creates a task, which can be read with the reply in 0.3", async () => {
  const { body } = await post(send10({ metadata: undefined }), bobs)
  const { id, contextId } = body.result.task
  expect(body.result.task).toMatchObject({ id: uuid, contextId: uuid, status: { state: 'TASK_STATE_SUBMITTED' } })
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: id, text: 'done' })

  const { result } = (await post(request('tasks/get', { id }))).body
  expect(result).toMatchObject({ kind: 'task', id, contextId, status: { state: 'completed' } })
  expect(result.artifacts).toMatchObject([{ parts: [{ kind: 'text', text: 'done' }] }])
  expect(await inboxOf(grid, grid.alice)).toEqual([])
})

test.each([
  ['tenant', () => send10({ metadata: undefined }, { tenant: 'bob', ...atOnce10 }), endpoint],
  ['tenant in 0.3', () => send03({ metadata: undefined }, { tenant: '@Bob', ...atOnce03 }), endpoint],
  ['blocking: false', () => send03({}, atOnce03), endpoint],
  ['returnImmediately', () => send10({}, atOnce10), endpoint],
  ['the path with a slash', () => send10({ metadata: undefined }), '/a2a/v1/agents/bob/'],
  ['the path and the metadata alike', () => send10({}), '/a2a/v1/agents/bob'],
])('a send with %s returns its task', async (_, body, path) => {
  const { result } = (await post(body(), path)).body

  expect((result.task ?? result).status.state).toMatch(/submitted$/i)
  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
})

test('a send whose path, tenant and metadata name different agents gets -32602', async () => {
  const bodies: [unknown, string][] = [
    [send10({ metadata: { to: 'alice' } }), bobs],
    [send10({ metadata: undefined }, { tenant: 'alice' }), bobs],
    [send10({ metadata: { to: 'bob' } }, { tenant: 'alice' }), endpoint],
    [request('GetTask', { id: 't', tenant: 'alice' }), bobs],
  ]
  for (const [body, path] of bodies) expect((await post(body, path)).body.error).toMatchObject({ code: -32602 })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

test("a path with an unknown agent or another account's private agent gets the same not-found error", async () => {
  for (const alias of ['nobody', 'eve', 'böb']) {
    const { body } = await post(send10({ metadata: undefined }), `/a2a/v1/agents/${encodeURIComponent(alias)}`)
    expect(body.error).toMatchObject({ code: -32602, data: [{ reason: 'RECIPIENT_NOT_FOUND' }] })
  }
})

test("an agent's endpoint accepts files and data without text, but not an empty text", async () => {
  const file = await post(send10({ parts: [{ raw: 'AAAA', filename: 'a.png', mediaType: 'image/png' }] }), bobs)
  const data = await post(send03({ parts: [{ kind: 'data', data: { answer: 42 } }] }), bobs)
  const none = await post(send10({ parts: [{ text: '' }] }), bobs)

  expect(file.body.result.task.status.state).toBe('TASK_STATE_SUBMITTED')
  expect(data.body.result.history[0].parts).toEqual([{ kind: 'data', data: { answer: 42 } }])
  expect(none.body.error).toMatchObject({ code: -32005, message: 'No text content in message parts' })
  const [first, second] = await inboxOf(grid, grid.bob)
  expect(first).toMatchObject({ parts: [{ raw: 'AAAA' }] })
  expect(second).toMatchObject({ parts: [{ data: { answer: 42 } }] })
})

test("an agent's endpoint accepts a body of 4 MiB, and the shared endpoint 256 KiB", async () => {
  const large = send10({ metadata: undefined, parts: [{ text: 'see' }, { raw: 'A'.repeat(3 * 1024 * 1024) }] })

  expect((await post(large, bobs)).body.result.task.status.state).toBe('TASK_STATE_SUBMITTED')
  expect((await post({ ...large, tenant: 'bob' }, endpoint)).status).toBe(413)
  expect((await post({ ...large, padding: 'x'.repeat(1024 * 1024) }, bobs)).status).toBe(413)
})

test('a confirmation names its task, and the task contains the reply', async () => {
  const { result } = (await post(send03())).body
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { messageId: result.messageId, text: 'done' })

  const task = (await post(request('tasks/get', { id: result.taskId }))).body.result
  expect(result.taskId).toEqual(uuid)
  expect(task).toMatchObject({ contextId: result.contextId, status: { state: 'completed' } })
  expect(task.artifacts).toMatchObject([{ parts: [{ text: 'done' }] }])
})

test('a message to a task that waits for input continues the task', async () => {
  const { id, contextId } = (await post(send10({ metadata: undefined }, atOnce10), bobs)).body.result.task
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: id, state: 'input-required', text: 'Which?' })

  const more = { taskId: id, metadata: undefined, messageId: 'm-2', parts: [{ text: 'that' }] }
  const wrong = await post(send10({ ...more, contextId: 'other' }))
  const other = await post(send10({ ...more, messageId: 'm-3' }), endpointOf(grid.alice))
  const right = await post(send10({ ...more, contextId }, atOnce10))

  expect(wrong.body.error).toMatchObject({ code: -32602 })
  expect(other.body.error).toMatchObject({ code: -32001 })
  expect(right.body.result.task).toMatchObject({ id, contextId })
  expect(right.body.result.task.history.map(({ role }: { role: string }) => role)).toEqual(
    expect.arrayContaining(['ROLE_USER', 'ROLE_USER']),
  )
  expect(await inboxOf(grid, grid.bob)).toMatchObject([{ message: 'that', task_id: id }])
})

test('a canceled task cannot be canceled again, and accepts no messages', async () => {
  const { id } = (await post(send10({}, atOnce10))).body.result.task

  const canceled = await post(request('CancelTask', { id }))
  const again = await post(request('tasks/cancel', { id }))
  const further = await post(send03({ taskId: id, metadata: undefined }))

  expect(canceled.body.result).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
  expect(again.body.error).toMatchObject({ code: -32002, data: [{ reason: 'TASK_NOT_CANCELABLE' }] })
  expect(further.body.error).toMatchObject({ code: -32004, data: [{ reason: 'UNSUPPORTED_OPERATION' }] })
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

function post(body: unknown, path: string = endpoint, headers?: Record<string, string>) {
  return postA2a(grid, grid.alice.key, body, headers, path)
}
