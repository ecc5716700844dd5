/**
 * How often a process queries a remote database while nothing happens. See docs/architecture.md, "After the commit".
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitForMessages } from '../../src/grid/messaging/wait-for-messages.ts'
import { second } from '../../src/lib/time.ts'
import { startWorker, type Worker } from '../../src/worker/worker.ts'
import { type CountingProxy, countingProxy } from '../support/counting-proxy.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

/** The number of seconds in which requests are counted. */
const seconds = process.env.LONG_TESTS ? 60 : 5

let server: Sqld
let proxy: CountingProxy
let grid: TestGrid
let worker: Worker
beforeAll(async () => {
  server = await startSqld()
  proxy = await countingProxy(server.url)
  grid = await testGrid({ url: proxy.url })
  worker = await startWorker(grid.store)
  // Waits for the one-time work of a start. The long form also waits for hourly work, which first runs after a minute.
  await pause(seconds < 60 ? 2 : 65)
})
afterAll(async () => {
  await worker.stop()
  await grid.close()
  proxy.close()
  await server.stop()
})

test('an idle process queries the database at most 75 times a minute', async () => {
  proxy.requests = 0
  await pause(seconds)

  // A short time may contain one more heartbeat.
  expect(proxy.requests).toBeLessThanOrEqual(75 * seconds / 60 + (seconds < 60 ? 4 : 0))
})

test('a process with ten waiting agents queries the database at most 320 times a minute', async () => {
  const agents = await Promise.all(Array.from({ length: 10 }, (_, n) => grid.acme.agent(`waits-${n}`)))
  const waits = agents.map((agent) =>
    waitForMessages(storeOf(grid, agent), {}, { seconds: seconds + 2, lookEveryMs: 100 * second })
  )
  await pause(1)
  proxy.requests = 0
  await pause(seconds)
  const counted = proxy.requests
  await Promise.all(waits)

  expect(counted).toBeLessThanOrEqual(320 * seconds / 60 + (seconds < 60 ? 4 : 0))
})

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * second))
}
