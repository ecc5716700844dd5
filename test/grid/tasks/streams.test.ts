/** Following tasks: streams of events, and waits for an answer. */
import { beforeEach, expect, test } from 'vitest'
import { waitForMessages } from '../../../src/grid/messaging/wait-for-messages.ts'
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

const watch = { endsWhenInterrupted: false, heartbeatMs: 60_000 }

/** What a stream tells, as it comes. */
function listen(account: AccountStore, id: string, options: Partial<Parameters<typeof watchTask>[2]> = {}) {
  const news: TaskNews[] = []
  const ended = (async () => {
    for await (const told of watchTask(account, id, { ...watch, ...options })) news.push(told)
  })()
  return { news, ended }
}

/** In short, with the state of the task that comes first. */
const told = (news: TaskNews[]) =>
  news.flatMap((one) =>
    one === 'heartbeat' ? [one] : 'first' in one ? [`task ${one.first.status.state}`] : inShort([one])
  )

test('a stream tells the task and then its events, and ends with it', async () => {
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

test('a wait ends with the answer; at once if nobody is there to give one', async () => {
  const { id } = await askFor(client, 'a question')
  expect((await waitForTask(client, id, { ms: 60_000, strict: false })).status.state).toBe('submitted')

  const waiting = waitForTask(client, id, { ms: 60_000, strict: true })
  await updateTask(bob, { taskId: id, text: 'an answer' })
  expect((await waiting).artifacts).toHaveLength(1)

  const reading = waitForMessages(bob, {}, { seconds: 50 })
  expect((await reading).messages).toHaveLength(1)
  const next = await askFor(client, 'another')
  const connected = waitForTask(client, next.id, { ms: 60_000, strict: false })
  await updateTask(bob, { taskId: next.id, state: 'failed', text: 'no idea' })
  expect((await connected).status).toMatchObject({ state: 'failed', message: { parts: [{ text: 'no idea' }] } })
})
