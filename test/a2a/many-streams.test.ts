/** Many streams: how many a key may have, their cost, and heartbeats. */
import { expect, test } from 'vitest'
import { deleteAgent } from '../../src/grid/agents/agents.ts'
import { endpoint, endpointOf, inboxOf, openA2aStream, postA2a, request, send10 } from '../support/a2a.ts'
import { type TestGrid, testGrid } from '../support/grid.ts'

let grid: TestGrid

const stream = { ...send10({ metadata: undefined }), method: 'SendStreamingMessage' }

test('a key can have 100 streams; the next one gets 429 before anything is stored, until one of them is closed', async () => {
  grid = await testGrid()
  const id = await start()
  const streams = await Promise.all(Array.from({ length: 100 }, () => open(id)))
  for (const one of streams) expect((await one.next())?.result.task.id).toBe(id)

  for (
    const [body, path] of [
      [request('SubscribeToTask', { id }), endpoint],
      [request('tasks/resubscribe', { id }), endpoint],
      [stream, endpointOf(grid.bob)],
    ] as const
  ) {
    const refused = await postA2a(grid, grid.alice.key, body, {}, path)
    expect([refused.status, refused.body.error.data[0].reason]).toEqual([429, 'RATE_LIMITED'])
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
  }
  expect(await inboxOf(grid, grid.bob)).toHaveLength(1)
  // The limit applies per key, so @bob can still open a stream.
  const bob = await openA2aStream(
    grid,
    grid.bob.key,
    { ...stream, params: send10({ metadata: { to: 'bob' } }).params },
    {
      path: endpointOf(grid.bob),
    },
  )
  expect((await bob.next())?.result).toHaveProperty('task')
  await bob.close()

  await streams.pop()!.close()
  const again = await open(id)
  expect((await again.next())?.result.task.id).toBe(id)
  await Promise.all([...streams, again].map((one) => one.close()))
})

test('a stream without events sends a heartbeat within 5 seconds', async () => {
  grid = await testGrid({})
  const one = await open(await start())
  expect(await one.nextItem()).toEqual({ comment: 'heartbeat' })
  await one.next()
  const startedAt = performance.now()

  expect(await one.nextItem()).toEqual({ comment: 'heartbeat' })
  // Clients disconnect after 5 s without data.
  expect(performance.now() - startedAt).toBeLessThan(4_900)
  await one.close()
})

test('a stream ends when the process stops', async () => {
  const stopping = new AbortController()
  grid = await testGrid({ stopping: stopping.signal })
  const one = await open(await start())
  await one.next()
  stopping.abort()

  expect(await one.rest()).toEqual([])
})

test('a stream ends immediately when its agent is deleted', async () => {
  grid = await testGrid({})
  const one = await open(await start())
  await one.next()
  await deleteAgent(grid.acme.store, 'alice')

  expect(await one.rest()).toEqual([])
})

async function start(): Promise<string> {
  const { body } = await postA2a(grid, grid.alice.key, send10({}, { configuration: { returnImmediately: true } }))
  return body.result.task.id
}

function open(id: string) {
  return openA2aStream(grid, grid.alice.key, request('SubscribeToTask', { id }))
}
