/** Tasks with several processes on one database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMessages } from '../../../src/grid/messaging/read-messages.ts'
import { updateTask } from '../../../src/grid/tasks/update-task.ts'
import { watchTask } from '../../../src/grid/tasks/watch-task.ts'
import { storeOf, type TestGrid, testGrid } from '../../support/grid.ts'
import { type Sqld, startSqld } from '../../support/sqld.ts'
import { askFor, inShort } from '../../support/tasks.ts'
import { waitFor } from '../../support/wait-for.ts'

let server: Sqld
let here: TestGrid
let there: TestGrid
beforeAll(async () => {
  server = await startSqld({ isRelaxed: true })
  here = await testGrid({ url: server.url })
  const { acme, evil, alice, bob, eve } = here
  there = await testGrid({ url: server.url, cast: { acme, evil, alice, bob, eve } })
})
afterAll(async () => {
  await here.close()
  await there.close()
  await server.stop()
})

test('a stream of one process soon gets events from another process', async () => {
  const [client, bob] = [storeOf(here, here.alice), storeOf(there, here.bob, there.acme)]
  const { id } = await askFor(client, 'a question')
  const told: string[] = []
  const notifiedAt: number[] = []
  let hasBegun = false
  const ended = (async () => {
    for await (const news of watchTask(client, id, { heartbeatMs: 60_000 })) {
      hasBegun = true
      if (news === 'heartbeat' || 'first' in news) continue
      told.push(...inShort([news]))
      notifiedAt.push(performance.now())
    }
  })()
  const doneAt: number[] = []
  const step = async (done: Promise<unknown>) => {
    await done
    doneAt.push(performance.now())
  }
  // Wait for the first value. It is a snapshot, so earlier events do not arrive separately.
  await waitFor('the stream', () => hasBegun)
  await step(readMessages(bob, {}))
  for (let n = 0; n < 20; n++) await step(updateTask(bob, { taskId: id, state: 'working', text: `note ${n}` }))
  await updateTask(bob, { taskId: id, text: 'an answer' })
  await ended

  expect(told).toEqual([...Array(21).fill('working'), 'an answer', 'completed'])
  const delays = doneAt.map((done, n) => notifiedAt[n] - done).sort((a, b) => a - b)
  console.log(`events of another process are told after ${delays.map(Math.round).join(' ')} ms`)
})
