/**
 * How many source files one send passes from the socket to the commit and back, measured by the coverage of one warm
 * call. Files of `lib/` are not counted; with them a send passes about 35.
 */
import { Session } from 'node:inspector/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../src/app.ts'
import { freePort } from '../src/lib/free-port.ts'
import { listen, type Listener } from '../src/listen.ts'
import { type TestGrid, testGrid } from './support/grid.ts'

/**
 * A reader of this path keeps it in mind: a new file on it must be worth its place.
 */
const maxFiles = 31

let grid: TestGrid
let listener: Listener
beforeAll(async () => {
  const port = await freePort()
  // As a process runs it: without the tripwire, which sees every statement.
  grid = await testGrid({ env: { BASE_URL: `http://localhost:${port}`, LOG_LEVEL: 'info' }, inspect: undefined })
  const app = createApp(grid.store)
  listener = await listen((request, connection) => app.fetch(request, connection), { port, host: '127.0.0.1' })
})
afterAll(async () => {
  await listener.stop(0)
  await grid.close()
})

test(`a send passes at most ${maxFiles} source files`, async () => {
  for (let n = 0; n < 20; n++) await send()

  // What happens every second may come during a call, but not during each of several, which are more on a busy machine.
  let files = await filesOf(send)
  for (let n = 0; n < 8 || (files.length > maxFiles && n < 24); n++) {
    const others = await filesOf(send)
    files = files.filter((file) => others.includes(file))
  }

  console.log(`A send passes ${files.length} source files:\n  ${files.join('\n  ')}`)
  expect(files).toContain('src/grid/messaging/send-message.ts')
  expect(files.length).toBeLessThanOrEqual(maxFiles)
})

async function send(): Promise<void> {
  const answer = await fetch(`http://localhost:${listener.port}/mcp/v1/grid`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${grid.alice.key}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'send_message', arguments: { to: '@bob', message: 'hi' } },
    }),
  })
  expect(await answer.json()).toMatchObject({
    result: { content: [{ text: expect.stringContaining('"recipient":"@bob"') }] },
  })
}

/** The files of `src` in which a function ran during the call. */
async function filesOf(call: () => Promise<void>): Promise<string[]> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  await call()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()

  const root = fileURLToPath(new URL('..', import.meta.url))
  return result.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0)
  )
    .map(({ url }) => relative(root, url.startsWith('file:') ? fileURLToPath(url) : url))
    .filter((path) => path.startsWith('src/') && !path.startsWith('src/lib/')).sort()
}
