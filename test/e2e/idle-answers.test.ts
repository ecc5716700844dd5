/** How long Bun keeps connections without traffic open. `listen.test.ts` tests the same on Node. */
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { startProgram } from '../support/process.ts'
import { waitFor } from '../support/wait-for.ts'

test('Bun does not close a connection that waits for a response, but disconnects a client that does not read', async () => {
  const server = await startProgram('test/e2e/idle-server.ts', [], { DATABASE_URL: 'file:none.db' }, 'bun')
  const stalled = connect(server.port, '127.0.0.1')
  stalled.on('error', () => {})
  stalled.pause()
  stalled.write('GET /stalled HTTP/1.1\r\nHost: localhost\r\n\r\n')

  const late = ['GET', 'DELETE'].map((method) => fetch(`${server.url}/late`, { method }))
  expect(await Promise.all(late.map(async (answer) => (await answer).text()))).toEqual(['late', 'late'])

  let received = 0
  stalled.on('data', ({ length }) => received += length)
  stalled.resume()
  await waitFor('the end of the stalled answer', () => stalled.closed || received === 64 * 2 ** 20)
  expect(received).toBeLessThan(64 * 2 ** 20)
  stalled.destroy()
  server.signal('SIGKILL')
  await server.ended
})
