/**
 * Unsent responses and events count towards the memory limits of the key, the account and the process. See
 * docs/security.md.
 */
import { expect, test } from 'vitest'
import { updateTask } from '../../src/grid/tasks/update-task.ts'
import { CallerConnection } from '../../src/lib/http/caller-connection.ts'
import { eventStream } from '../../src/lib/http/event-stream.ts'
import type { Connection } from '../../src/listen.ts'
import { endpoint, endpointOf, openA2aStream, postA2a, request, send10 } from '../support/a2a.ts'
import { rows } from '../support/database.ts'
import { storeOf, type TestAgent, type TestGrid, testGrid } from '../support/grid.ts'
import { waitFor } from '../support/wait-for.ts'

let grid: TestGrid

/** Starts an agent's task. The task's size in bytes is set directly in the database. */
async function start(agent: TestAgent, bytes: number, to = grid.bob): Promise<string> {
  const sent = send10({ metadata: undefined }, { configuration: { returnImmediately: true } })
  const { body } = await postA2a(grid, agent.key, sent, {}, endpointOf(to))
  const { id } = body.result.task
  await rows(grid, 'UPDATE tasks SET bytes = ? WHERE account_id = ? AND id = ?', [bytes, grid.acme.id, id])
  return id
}

/** Makes calls whose clients read the response only when `take` is called. */
function slowClient() {
  const taken: (() => void)[] = []
  const call = async (agent: TestAgent, body: unknown, path = endpoint) => {
    const connection: Connection = {
      remoteAddress: '203.0.113.7',
      answerSent: () => new Promise<void>((resolve) => taken.push(resolve)),
    }
    const headers = { Authorization: `Bearer ${agent.key}`, 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await grid.app.request(new URL(path, grid.deps.config.baseUrl).href, init, connection)
    const { error } = await response.json()
    return error ? `${response.status} ${error.message}` : 'answered'
  }
  return { call, take: () => taken.splice(0).forEach((resolve) => resolve()) }
}

/** The size of a task that is one byte below the limit. */
const full = 8 * 2 ** 20 - 1

test('unsent tasks count towards the memory limits of their key, account and grid, and the error names the exhausted limit', async () => {
  grid = await testGrid()
  const { call, take } = slowClient()
  const carol = await grid.acme.agent('carol')
  const [ofAlice, ofCarol, small] = [await start(grid.alice, full), await start(carol, full), await start(carol, 1_000)]
  const get = (id: string) => request('GetTask', { id })
  const refused = (who: string, bytes: string) =>
    `429 ${who} may have ${bytes} bytes of unsent answers at a time. Call again when some of them have been read.`

  expect(await call(grid.alice, get(ofAlice))).toBe('answered')
  expect(await call(grid.alice, get(ofAlice))).toBe(refused('This key', '10,666,666'))
  expect(await call(grid.alice, request('ListTasks', {}))).toBe(refused('This key', '10,666,666'))
  expect(await call(carol, get(ofCarol))).toBe(refused('This account', '16,000,000'))
  expect(await call(carol, get(small))).toBe('answered')
  expect(await call(grid.eve, request('ListTasks', {}))).toBe('answered')

  const { ofAccounts, ofKeys } = grid.store.waiting.answerBytes
  take()
  await waitFor('the room', () => ofAccounts.held === 0 && ofKeys.held === 0)
  ofAccounts.take('others', 15_000_000)
  ofAccounts.take('more', 10_000_000)
  ofAccounts.take('yet more', 8_000_000)
  expect(await call(grid.alice, get(ofAlice))).toBe(refused('The grid', '64,000,000'))
})

test('a send above the memory limit gets its response later, because its message is already stored', async () => {
  grid = await testGrid()
  const { call, take } = slowClient()
  const id = await start(grid.alice, full)
  await call(grid.alice, request('GetTask', { id }))

  const large = send10({ metadata: undefined, parts: [{ text: 'hi' }, { data: 'x'.repeat(3_000_000) }] }, {
    configuration: { returnImmediately: true },
  })
  const answer = call(grid.alice, large, endpointOf(grid.bob))
  await waitFor('the message', async () => (await storeOf(grid, grid.bob).read.inbox.unread(grid.bob.id)) === 2)
  const first = await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, 'not yet'))])
  take()

  expect([first, await answer]).toEqual(['not yet', 'answered'])
})

test('two streams first deliver a large task one after the other, and then all its events', async () => {
  grid = await testGrid()
  const { ofAccounts } = grid.store.waiting.answerBytes
  const id = await start(grid.alice, full)
  const open = () => openA2aStream(grid, grid.alice.key, request('SubscribeToTask', { id }))
  const [one, two] = [await open(), await open()]
  expect(await one.nextItem()).toEqual({ comment: 'heartbeat' })
  expect((await one.nextItem())?.result.task.id).toBe(id)
  for (let n = 0; n < 3; n++) expect(await two.nextItem()).toEqual({ comment: 'heartbeat' })
  expect(ofAccounts.held).toBe(full)

  // The first stream's client shows by its next read that it has received the task.
  const ofOne = one.next()
  expect((await two.next())?.result.task.id).toBe(id)
  const ofTwo = two.next()
  await updateTask(storeOf(grid, grid.bob), { taskId: id, text: 'an answer', artifact: { id: 'a' } })
  for (const event of [await ofOne, await ofTwo]) {
    expect(event?.result.artifactUpdate.artifact.parts).toEqual([{ text: 'an answer' }])
  }
  await Promise.all([one.close(), two.close()])
  expect(ofAccounts.held).toBe(0)
})

test('the limit on task streams applies per account, and other accounts can open streams', async () => {
  grid = await testGrid({ limits: { waitsPerAccount: 2 } })
  const ids = [await start(grid.alice, 0), await start(grid.bob, 0, grid.alice)]
  const agents = [grid.alice, grid.bob]
  const streams = []
  for (const [n, agent] of agents.entries()) {
    streams.push(await openA2aStream(grid, agent.key, request('SubscribeToTask', { id: ids[n] })))
  }

  const { status, body } = await postA2a(grid, grid.alice.key, request('SubscribeToTask', { id: ids[0] }))
  expect([status, body.error.message]).toEqual([
    429,
    'This account may have 2 streams of tasks at a time. Close one, or try again later.',
  ])
  expect(grid.store.waiting.taskStreams.reached('key of eve', grid.evil.id)).toBeUndefined()
  await Promise.all(streams.map((stream) => stream.close()))
})

test('a client that does not read its stream is disconnected, and its unsent data is dropped', async () => {
  grid = await testGrid()
  const closed = new Promise<number>((resolve) => {
    const connection = new CallerConnection(new Request('http://localhost'), {
      answerSent: (ms) => Promise.resolve(resolve(ms)),
    })
    async function* frames() {
      for (;;) yield await Promise.resolve('x')
    }
    const { body } = eventStream(frames(), connection, { maxStallMs: 1 })
    void body!.getReader().read()
  })
  expect(await closed).toBe(0)
})
