/** Following tasks: event streams, and waits for an answer. */
import { beforeEach, expect, test } from 'vitest'
import { updateAgent } from '../../../src/grid/agents/agent-settings.ts'
import { waitForMessages } from '../../../src/grid/messaging/wait-for-messages.ts'
import { getTask } from '../../../src/grid/tasks/tasks.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { type TaskNews, waitForTask, watchTask } from '../../../src/grid/tasks/watch-task.ts'
import type { AccountStore } from '../../../src/store/account.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { askFor, eventsOf, inShort } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'

let grid: TestGrid
let client: AccountStore
let bob: AccountStore
beforeEach(async () => {
  grid = await testGrid()
  client = storeOf(grid, grid.alice)
  bob = storeOf(grid, grid.bob)
})

const watch = { heartbeatMs: 60_000 }

/** Follows a task. Returns a list that grows as the stream's values arrive, and a promise of the stream's end. */
function listen(account: AccountStore, id: string, options: Partial<Parameters<typeof watchTask>[2]> = {}) {
  const news: TaskNews[] = []
  const ended = (async () => {
    for await (const told of watchTask(account, id, { ...watch, ...options })) news.push(told)
  })()
  return { news, ended }
}

/** Summarises a stream, starting with the task's state. */
const told = (news: TaskNews[]) =>
  news.flatMap((one) =>
    one === 'heartbeat' ? [one] : 'first' in one ? [`task ${one.first.status.state}`] : inShort([one])
  )

test('a stream sends the task, then its events, and ends when the task ends', async () => {
  const { id } = await askFor(client, 'a question')
  const stream = listen(client, id)
  await waitFor('the task', () => stream.news.length === 1)

  await updateTask(bob, { taskId: id, state: 'working', text: 'looking' })
  await updateTask(bob, { taskId: id, text: 'an answer' })
  await stream.ended

  expect(told(stream.news)).toEqual(['task submitted', 'working', 'an answer', 'completed'])
  await expect(watchTask(client, id, watch).next()).rejects.toMatchObject({ code: 'unsupported_operation' })
  expect(inShort(await eventsOf(client, id, 2))).toEqual(['an answer', 'completed'])
  expect(await eventsOf(client, id, 4)).toEqual([])
})

test('all followers of a task see each event once, in order', async () => {
  const { id } = await askFor(client, 'a question')
  const streams = Array.from({ length: 20 }, () => listen(client, id))
  await waitFor('all streams', () => streams.every(({ news }) => news.length === 1))

  for (let n = 0; n < 9; n++) await updateTask(bob, { taskId: id, state: 'working', text: `note ${n}` })
  await updateTask(bob, { taskId: id, state: 'completed' })
  await Promise.all(streams.map(({ ended }) => ended))

  expect(new Set(streams.map(({ news }) => told(news).join())).size).toBe(1)
  expect(streams[0].news).toHaveLength(11)
})

test('a stream that is behind by more events than one read returns misses none of them', async () => {
  const { id } = await askFor(client, 'a question')
  const lines = Array.from({ length: 450 }, (_, n) => `line ${n}`)
  await Promise.all(lines.map((text) => updateTask(bob, { taskId: id, artifact: { id: 'log' }, text })))
  const stream = listen(client, id, { after: 0 })
  await waitFor('all lines', () => stream.news.length === 451)
  await updateTask(bob, { taskId: id, state: 'completed' })
  await stream.ended

  const numbers = stream.news.map((one) => typeof one === 'object' && 'n' in one ? one.n : 0)
  expect(numbers).toEqual(Array.from({ length: 452 }, (_, n) => n + 1))
})

test('a stream whose read fails releases its slot, and the next stream continues where it stopped', async () => {
  const { id } = await askFor(client, 'a question')
  const { tasks } = client.read
  const { eventsAfter } = tasks
  let isFailing = false
  tasks.eventsAfter = (...given) =>
    isFailing ? Promise.reject(new Error('The database does not answer')) : eventsAfter(...given)
  const first = listen(client, id)
  await waitFor('the stream', () => first.news.length === 1)
  isFailing = true
  await updateTask(bob, { taskId: id, state: 'working' })
  await first.ended
  isFailing = false

  expect(grid.store.waiting.taskStreams.count).toBe(0)
  const second = listen(client, id, { after: 1 })
  await updateTask(bob, { taskId: id, text: 'an answer' })
  await second.ended
  expect(told(second.news)).toEqual(['working', 'an answer', 'completed'])
})

test('a wait for a task ends with the answer, or immediately if the recipient is not connected', async () => {
  const { id } = await askFor(client, 'a question')
  await waitForTask(client, id, { ms: 60_000 })
  expect((await getTask(client, id)).status.state).toBe('submitted')

  await updateAgent(grid.acme.store, { agent: 'bob', callersWait: 'yes' })
  const waiting = waitForTask(client, id, { ms: 60_000 })
  await updateTask(bob, { taskId: id, text: 'an answer' })
  await waiting
  expect((await getTask(client, id)).artifacts).toHaveLength(1)

  await updateAgent(grid.acme.store, { agent: 'bob', callersWait: 'auto' })
  const reading = waitForMessages(bob, {}, { seconds: 50 })
  expect((await reading).messages).toHaveLength(1)
  const next = await askFor(client, 'another')
  const connected = waitForTask(client, next.id, { ms: 60_000 })
  await updateTask(bob, { taskId: next.id, state: 'failed', text: 'no idea' })
  await connected
  expect((await getTask(client, next.id)).status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'no idea' }] },
  })
})
