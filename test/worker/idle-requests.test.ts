/** How often a process asks a remote database while nothing happens. See docs/architecture.md, "After the commit". */
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitForMessages } from '../../src/grid/messaging/wait-for-messages.ts'
import { second } from '../../src/lib/time.ts'
import { startWorker, type Worker } from '../../src/worker/worker.ts'
import { storeOf, type TestGrid, testGrid } from '../support/grid.ts'
import { type Sqld, startSqld } from '../support/sqld.ts'

/** The share of a minute in which requests are counted. */
const seconds = process.env.LONG_TESTS ? 60 : 10

let server: Sqld
let proxy: Server
let grid: TestGrid
let worker: Worker
let requests = 0
beforeAll(async () => {
  server = await startSqld()
  proxy = await countingProxy(server.url)
  grid = await testGrid({ url: `http://localhost:${(proxy.address() as AddressInfo).port}` })
  worker = await startWorker(grid.store)
  // What a start does once.
  await pause(2)
})
afterAll(async () => {
  await worker.stop()
  await grid.close()
  proxy.close()
  await server.stop()
})

test('a process with nothing to do asks the database at most 75 times a minute', async () => {
  requests = 0
  await pause(seconds)

  // A heartbeat may come once more in a short time.
  expect(requests).toBeLessThanOrEqual(75 * seconds / 60 + (seconds < 60 ? 4 : 0))
})

test('with ten agents that wait, at most 320 times', async () => {
  const agents = await Promise.all(Array.from({ length: 10 }, (_, n) => grid.acme.agent(`waits-${n}`)))
  const waits = agents.map((agent) =>
    waitForMessages(storeOf(grid, agent), {}, { seconds: seconds + 2, lookEveryMs: 100 * second })
  )
  await pause(1)
  requests = 0
  await pause(seconds)
  const counted = requests
  await Promise.all(waits)

  expect(counted).toBeLessThanOrEqual(320 * seconds / 60 + (seconds < 60 ? 4 : 0))
})

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * second))
}

async function countingProxy(url: string): Promise<Server> {
  const { port } = new URL(url.replace(/^libsql:/, 'http:'))
  const proxy = createServer((incoming, outgoing) => {
    requests++
    const { method, headers, url: path } = incoming
    const passed = request({ host: 'localhost', port, path, method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  await new Promise<void>((resolve) => proxy.listen(0, 'localhost', resolve))
  return proxy
}
