/** Task streams over JSON-RPC: the events that sends and subscriptions deliver, their order, and the end. */
import { beforeEach, expect, test } from 'vitest'
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
  type StreamedEvent,
} from '../support/a2a.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid
let bobs: string
beforeEach(async () => {
  grid = await testGrid()
  bobs = endpointOf(grid.bob)
})

const stream10 = (message: object = {}, params: object = {}) => ({
  ...send10({ metadata: undefined, ...message }, { ...params }),
  method: 'SendStreamingMessage',
})
const stream03 = (message: object = {}) => ({
  ...send03({ metadata: undefined, ...message }),
  method: 'message/stream',
})

test('a stream to a disconnected agent immediately sends a comment and then the task', async () => {
  const stream = await open(stream10(), bobs)

  expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
  expect(stream.response.headers.get('cache-control')).toBe('no-cache, no-transform')
  expect(stream.response.headers.get('x-accel-buffering')).toBe('no')
  expect(stream.response.headers.get('a2a-version')).toBe('1.0')
  expect(await stream.nextItem()).toEqual({ comment: 'heartbeat' })
  expect(await stream.nextItem()).toMatchObject({
    id: 1,
    result: { task: { status: { state: 'TASK_STATE_SUBMITTED' } } },
  })
  await stream.close()
})

test('in 1.0, the events of a read, a reply and the end arrive in order', async () => {
  const stream = await open(stream10(), bobs)
  const { result: { task } } = (await stream.next())!
  await inboxOf(grid, grid.bob)
  expect((await stream.next())?.result.statusUpdate.status.state).toBe('TASK_STATE_WORKING')
  await bob({ taskId: task.id, text: 'done' })

  const rest = await stream.rest()
  const ref = { taskId: task.id, contextId: task.contextId }
  expect(rest.map(({ result }) => result)).toMatchObject([
    { artifactUpdate: { ...ref, artifact: { parts: [{ text: 'done' }] }, lastChunk: true } },
    { statusUpdate: { ...ref, status: { state: 'TASK_STATE_COMPLETED' } } },
  ])
  expect(rest.map(({ id }) => id)).toEqual([3, 4])
})

test("in 0.3, a stream's last event is final, and every frame has its request's id", async () => {
  const response = await grid.request(bobs, {
    method: 'POST',
    headers: { Authorization: `Bearer ${grid.alice.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ ...stream03(), id: 'mine' }),
  })
  const { tasks: [{ id }] } = (await post(request('ListTasks'))).body.result
  await bob({ taskId: id, state: 'rejected', text: 'No.' })

  const frames = (await response.text()).split('\n\n').filter((frame) => frame.includes('data: '))
    .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)))
  expect(frames).toMatchObject([
    { jsonrpc: '2.0', id: 'mine', result: { kind: 'task' } },
    {
      jsonrpc: '2.0',
      id: 'mine',
      result: {
        kind: 'status-update',
        final: true,
        status: { state: 'rejected', message: { parts: [{ text: 'No.' }] } },
      },
    },
  ])
})

test("a send's stream ends when the agent asks for input, and a subscription continues", async () => {
  const sent = await open(stream03(), bobs)
  const { result: task } = (await sent.next())!
  const subscribed = await open(request('tasks/resubscribe', { id: task.id }))
  expect((await subscribed.next())?.result).toMatchObject({ kind: 'task', status: { state: 'submitted' } })
  await bob({ taskId: task.id, state: 'input-required', text: 'Which?' })

  expect((await sent.rest()).map(summary)).toEqual(['input-required final'])
  expect(summary((await subscribed.next())!)).toBe('input-required')
  await bob({ taskId: task.id, state: 'completed' })
  expect((await subscribed.rest()).map(summary)).toEqual(['completed final'])
})

test('a stream on the shared endpoint is a single confirmation', async () => {
  const in10 = await open(stream10({ metadata: { to: 'bob' } }))
  const in03 = await open(stream03({ metadata: { to: 'bob' } }))

  expect((await in10.rest()).map(({ result }) => result)).toMatchObject([{ message: { role: 'ROLE_AGENT' } }])
  expect((await in03.rest()).map(({ result }) => result)).toMatchObject([{ kind: 'message', role: 'agent' }])
  expect(await inboxOf(grid, grid.bob)).toHaveLength(2)
})

test('an error before a stream begins is JSON in 1.0, and an event in 0.3', async () => {
  const task = await submitted()
  await post(request('CancelTask', { id: task.id }))
  const answers = [
    await post(stream10({ parts: [] }), bobs),
    await post({ ...stream10({ metadata: { to: 'nobody' } }) }),
    await post(request('SubscribeToTask', { id: 'missing' })),
    await post(request('SubscribeToTask', { id: task.id })),
    await post(request('tasks/resubscribe', { id: task.id }, 7)),
    await post(stream03({ metadata: { to: 'nobody' } })),
  ]

  expect(answers.map(({ status, headers, body }) => [status, headers.get('content-type'), body.error.code])).toEqual([
    [200, 'application/json', -32602],
    [200, 'application/json', -32602],
    [200, 'application/json', -32001],
    [200, 'application/json', -32004],
    [200, 'text/event-stream', -32004],
    [200, 'text/event-stream', -32602],
  ])
  expect(answers[4].body.id).toBe(7)
})

test('two subscribers get the same events, even if a third one disconnects', async () => {
  const { id } = await submitted()
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => open(request('SubscribeToTask', { id }))))
  const seen = [(await first.next())!, (await second.next())!, (await third.next())!]
  expect(seen[1]).toEqual(seen[0])
  await third.close()
  await inboxOf(grid, grid.bob)
  await bob({ taskId: id, artifact: { id: 'a' }, text: 'one' })
  await bob({ taskId: id, artifact: { id: 'a', append: true, lastChunk: true }, text: 'two', state: 'completed' })

  const rest = await first.rest()
  expect(await second.rest()).toEqual(rest)
  expect(rest.map(summary)).toEqual(['TASK_STATE_WORKING', 'a', 'a', 'TASK_STATE_COMPLETED'])
})

test('Last-Event-ID resumes a stream after that event, even if the task has ended', async () => {
  const { id } = await submitted()
  await inboxOf(grid, grid.bob)
  await bob({ taskId: id, text: 'done' })
  const from = (lastEventId: string) =>
    openA2aStream(grid, grid.alice.key, request('SubscribeToTask', { id }), {
      headers: { 'Last-Event-ID': lastEventId },
    })

  expect((await (await from('0')).rest()).map(({ id }) => id)).toEqual([1, 2, 3, 4])
  expect((await (await from('2')).rest()).map(summary)).toEqual([expect.any(String), 'TASK_STATE_COMPLETED'])
  // Refused, because nothing follows the last event, or because the Last-Event-ID is not an event of the task.
  for (const seen of ['4', '5', 'nonsense', '-1', '99999999999999999']) {
    await expect(from(seen)).rejects.toThrow('-32004')
  }
})

test('a stream requested again with the same idempotency key continues with the same task', async () => {
  const key = { headers: { 'Idempotency-Key': 'k-1' }, path: bobs }
  const first = await openA2aStream(grid, grid.alice.key, stream10(), key)
  const { result: { task } } = (await first.next())!
  await first.close()
  await inboxOf(grid, grid.bob)

  const second = await openA2aStream(grid, grid.alice.key, stream10(), key)
  expect((await second.next())?.result.task).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_WORKING' } })
  await bob({ taskId: task.id, text: 'done' })
  expect((await second.rest()).map(summary)).toEqual([expect.any(String), 'TASK_STATE_COMPLETED'])
  const third = await openA2aStream(grid, grid.alice.key, stream10(), key)
  expect((await third.rest()).map(({ result }) => result.task.status.state)).toEqual(['TASK_STATE_COMPLETED'])
  expect(await inboxOf(grid, grid.bob)).toEqual([])
})

async function submitted(): Promise<{ id: string }> {
  return (await post(send10({}, { configuration: { returnImmediately: true } }))).body.result.task
}

/** Returns the event's state, or its artifact's id. */
function summary({ result }: StreamedEvent): string {
  const update = result.statusUpdate ?? result.artifactUpdate ?? result
  if (update.artifact) return update.artifact.artifactId
  return update.final ? `${update.status.state} final` : update.status.state
}

function bob(update: Parameters<typeof updateTask>[1]) {
  return updateTask(storeOf(grid, grid.bob), update)
}

function open(body: unknown, path: string = endpoint) {
  return openA2aStream(grid, grid.alice.key, body, { path })
}

function post(body: unknown, path: string = endpoint) {
  return postA2a(grid, grid.alice.key, body, {}, path)
}
