/** Task lists, and the history of the tasks in them. */
import { beforeEach, expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { endpoint, endpointOf, inboxOf, postA2a, request, send03, send10 } from '../support/a2a.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'

const atOnce = { configuration: { returnImmediately: true } }

let grid: TestGrid
beforeEach(async () => {
  grid = await testGrid()
})

test('an empty task list has all four members, in both versions', async () => {
  for (const method of ['ListTasks', 'tasks/list']) {
    for (const params of [undefined, {}]) {
      expect((await post(request(method, params))).body.result)
        .toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
    }
  }
})

test('the pages of a task list repeat no task while new tasks are added', async () => {
  const ids: string[] = []
  for (let n = 0; n < 7; n++) {
    grid.clock.now += 1_000
    ids.unshift(await start())
  }
  const seen: string[] = []
  let pageToken = ''
  for (let page = 0; page < 10; page++) {
    const { result } = (await post(request('ListTasks', { pageSize: 2, pageToken }))).body
    expect(result).toMatchObject({ pageSize: 2, totalSize: 7 + page })
    seen.push(...result.tasks.map(({ id }: { id: string }) => id))
    pageToken = result.nextPageToken
    if (pageToken === '') break
    // A new task comes before the rest of the list.
    grid.clock.now += 1_000
    await start()
  }

  expect(new Set(seen).size).toBe(seen.length)
  expect(seen).toEqual(ids)
})

test.each([0, 101, -1, 1.5, '1.5'])('a page size of %j gets -32602', async (pageSize) => {
  const { body } = await post(request('ListTasks', { pageSize }))

  const description = 'pageSize must be an integer from 1 to 100.'
  expect(body.error).toMatchObject({ code: -32602, data: [{ fieldViolations: [{ field: 'pageSize', description }] }] })
})

test.each([
  [{ status: 'TASK_STATE_NONSENSE' }],
  [{ pageToken: 'nonsense' }],
  [{ statusTimestampAfter: '2026-11-21' }],
  [{ includeArtifacts: 'yes' }],
])('a task list with %j gets -32602', async (params) => {
  expect((await post(request('ListTasks', params))).body.error.code).toBe(-32602)
})

test("a task list has only the caller's tasks, filtered by context, state, time and endpoint", async () => {
  const first = await start({ contextId: 'c-1' })
  grid.clock.now += 60_000
  const second = await start({ contextId: 'c-2' })
  const ownId = await start({ metadata: { to: 'alice' } })
  await post(request('CancelTask', { id: first }))
  const list = async (params: object, path = endpoint, key = grid.alice.key) => {
    const { body } = await postA2a(grid, key, request('ListTasks', params), {}, path)
    return body.result.tasks.map(({ id }: { id: string }) => id).sort()
  }

  expect(await list({})).toEqual([first, second, ownId].sort())
  expect(await list({ contextId: 'c-1' })).toEqual([first])
  expect(await list({ status: 'TASK_STATE_CANCELED' })).toEqual([first])
  expect(await list({ status: 'canceled' })).toEqual([first])
  expect(await list({ statusTimestampAfter: '2026-11-21T09:00:30.000Z' })).toHaveLength(3)
  expect(await list({ statusTimestampAfter: '2026-11-21T09:05:30.000Z' })).toEqual([])
  expect(await list({}, endpointOf(grid.alice))).toEqual([ownId])
  expect(await list({ tenant: 'bob' })).toEqual([first, second].sort())
  expect(await list({}, endpoint, grid.bob.key)).toEqual([])
  expect(await list({}, endpoint, grid.eve.key)).toEqual([])
})

test('a task list includes artifacts only on request', async () => {
  const id = await start()
  await inboxOf(grid, grid.bob)
  await updateTask(storeOf(grid, grid.bob), { taskId: id, text: 'done' })
  const list = async (params: object) => (await post(request('ListTasks', params))).body.result.tasks[0]

  expect(await list({})).not.toHaveProperty('artifacts')
  expect(await list({ includeArtifacts: true })).toMatchObject({ artifacts: [{ parts: [{ text: 'done' }] }] })
})

test('historyLength returns the newest messages in order, and 0 omits the history', async () => {
  const id = await start({ messageId: 'm-1', parts: [{ text: 'one' }] })
  for (const text of ['two', 'three']) {
    const more = { taskId: id, messageId: text, metadata: undefined, parts: [{ text }] }
    const { task } =
      (await post(send10(more, { configuration: { returnImmediately: true, historyLength: 1 } }))).body.result
    expect(textsOf(task)).toEqual([text])
  }
  const get = async (historyLength?: number) => (await post(request('GetTask', { id, historyLength }))).body.result
  const list = async (historyLength?: number) =>
    (await post(request('ListTasks', { historyLength }))).body.result.tasks[0]

  for (const read of [get, list]) {
    expect(textsOf(await read())).toEqual(['one', 'two', 'three'])
    expect(textsOf(await read(2))).toEqual(['two', 'three'])
    expect(textsOf(await read(9))).toEqual(['one', 'two', 'three'])
    expect(await read(0)).not.toHaveProperty('history')
  }
  const none = await post(send03({}, { configuration: { blocking: false, historyLength: 0 } }))
  expect(none.body.result).not.toHaveProperty('history')
})

/** Sends a message from Alice to Bob. Resolves to the task's id. */
async function start(message: Record<string, unknown> = {}): Promise<string> {
  return (await post(send10(message, atOnce))).body.result.task.id
}

function textsOf({ history }: { history: { parts: { text: string }[] }[] }): string[] {
  return history.map(({ parts: [{ text }] }) => text)
}

function post(body: unknown, path: string = endpoint) {
  return postA2a(grid, grid.alice.key, body, {}, path)
}
