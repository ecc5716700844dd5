/** How endless requests are limited, and what waiting reads cost their account. See docs/security.md, "Overload". */
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { readMessagesRequest, sendMessageRequest } from '../scripts/bench/calls.ts'
import { Connection } from '../scripts/bench/connection.ts'
import { cleanUp, runtimes, startScript, temporaryFolder } from '../scripts/bench/server.ts'
import { createAccounts } from '../scripts/flood/measure.ts'
import { someRuntimes } from './support/long.ts'
import { waitFor } from './support/wait-for.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
afterAll(cleanUp)

/** Sends `count` requests as fast as the server accepts them, and discards the responses. */
function sendWithoutEnd(port: number, count: number): Socket {
  const requests = Buffer.from(`GET /work HTTP/1.1\r\nHost: localhost:${port}\r\n\r\n`.repeat(100))
  const socket = connect(port, '127.0.0.1')
  let sent = 0
  const send = () => {
    while (sent < count && !socket.destroyed) {
      sent += 100
      if (!socket.write(requests)) return
    }
  }
  socket.once('connect', send)
  socket.on('drain', send)
  // The server resets the connection, so an error is expected.
  socket.on('error', () => {})
  return socket.resume()
}

test.each(runtimes)(
  'a connection that sends requests endlessly is closed, and others are served: %s',
  async (runtime) => {
    const server = await startScript(runtime, ['scripts/new-connections/server.ts', 'listen'])
    const before = server.residentKiB()
    const sockets = Array.from({ length: 20 }, () => sendWithoutEnd(server.port, 20_000))
    const other = await fetch(`http://127.0.0.1:${server.port}/healthz`)
    expect(other.status).toBe(200)
    await waitFor('the connections to be closed', () => sockets.every(({ destroyed }) => destroyed))
    const growth = (server.residentKiB() - before) / 1_024
    await server.stop()

    // Requests that arrive together are refused immediately. Holding all of them would take some gigabytes.
    expect(growth).toBeLessThan(300)
  },
)

test.each(someRuntimes)('an account with 80 waiting reads can still send without delay: %s', async (runtime) => {
  const env = { DATABASE_URL: `file:${join(temporaryFolder(), 'grid.db')}`, OAUTH_CIMD: 'off', LOG_LEVEL: 'error' }
  const { flooding, honest: [other] } = await createAccounts(env, { honest: 1, agents: 82 })
  const server = await startScript(runtime, ['src/main.ts', 'serve'], env, '/readyz')
  const { port } = server
  const [sender, ...readers] = flooding.agents
  const send = sendMessageRequest(port, sender, `@${readers[80].alias}`)
  const connection = new Connection(port)
  // Makes each key's first calls now, because they compile code and count as calls of unknown callers.
  for (const reader of [...other.agents, ...readers]) await connection.send(readMessagesRequest(port, reader))
  for (let n = 0; n < 20; n++) await connection.send(send)
  await connection.send(readMessagesRequest(port, other.agents[0]))

  const waits = readers.slice(0, 80).map(async (reader) => {
    const wait = new Connection(port)
    await wait.send(readMessagesRequest(port, reader, { wait_seconds: 10 })).catch(() => {})
  })
  const startedAt = performance.now()
  // Both calls use their own connections, which the server accepts after the connections of the waits.
  const neighbour = new Connection(port).send(readMessagesRequest(port, other.agents[0]))
  const { status } = await new Connection(port).send(send)
  const ms = performance.now() - startedAt
  await neighbour
  await server.stop()
  await Promise.all(waits)

  expect(status).toBe(200)
  expect(ms).toBeLessThan(1_000)
})
