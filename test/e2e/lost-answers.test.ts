/** Clients that disconnect before the response, or die before they read it. See docs/delivery.md, "Reading". */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { wireRequest } from '../support/mcp.ts'
import {
  type Runtime,
  runtimes,
  type ServerProcess,
  startServe,
  type TemporaryDatabase,
  temporaryDatabase,
} from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { callTool } from './client.ts'

const rounds = isLong ? 60 : 10

/** Whether the runtime notices that a client resets its connection after the response. */
const reportsResets: Record<Runtime, boolean> = { node: true, deno: true, bun: false }
/** How many seconds a read waits for messages to be released. */
const patience = 5

describe.each(runtimes)('lost responses on %s', (runtime) => {
  let database: TemporaryDatabase
  let server: ServerProcess
  let alice: { key: string }
  let bob: { key: string }
  beforeAll(async () => {
    database = temporaryDatabase()
    const seeded = await seedAgents(database.url, ['alice', 'bob'])
    ;[alice, bob] = seeded.agents
    server = await startServe(runtime, { DATABASE_URL: database.url, LOG_LEVEL: 'debug' })
  })
  afterAll(async () => {
    await server.stop()
    database.remove()
  })

  test('messages are redelivered if the client disconnected before the response', async () => {
    const times = await lose(async (request) => {
      // The server is suspended until both the request and the disconnection have arrived.
      server.signal('SIGSTOP')
      const socket = connect(server.port, '127.0.0.1')
      socket.write(request, () => socket.destroy())
      await once(socket, 'close')
      server.signal('SIGCONT')
    })

    expect(times).toEqual({ byItself: rounds, withSince: 0, lost: 0 })
  })

  test('messages that a client did not read before it died are redelivered if the runtime notices the reset connection, and otherwise only with since', async () => {
    const times = await lose(async (request) => {
      const isLogged = requestLogged()
      const socket = connect(server.port, '127.0.0.1')
      // A paused socket leaves the response in the operating system, which then resets the connection.
      socket.pause()
      socket.write(request)
      await waitFor('the log line of the read', isLogged)
      // The server sent the read's response when it wrote the log line, so before this request's response.
      await (await fetch(`${server.url}/healthz`)).text()
      socket.destroy()
      await once(socket, 'close')
    }, reportsResets[runtime] ? patience : 0)

    const byItself = reportsResets[runtime] ? rounds : 0
    expect(times).toEqual({ byItself, withSince: rounds - byItself, lost: 0 })
  })

  /**
   * Repeatedly sends a message and loses the response of the read that leases it. Resolves to how the messages were
   * redelivered.
   */
  async function lose(read: (request: string) => Promise<void>, wait_seconds = patience) {
    const times = { byItself: 0, withSince: 0, lost: 0 }
    for (let n = 0; n < rounds; n++) {
      const message = `lost answer ${n}`
      await callTool(server.url, alice.key, 'send_message', { to: 'bob', message })
      await read(readRequest(n % 2 === 0 ? 'keep-alive' : 'close'))

      const next = await callTool(server.url, bob.key, 'read_messages', { wait_seconds })
      const last = await callTool(server.url, bob.key, 'read_messages', { since: 'last_batch' })
      if (next.messages[0]?.message === message) times.byItself++
      else if (last.messages[0]?.message === message) times.withSince++
      else times.lost++
    }
    console.log(`${runtime}: of ${rounds} lost answers ${times.byItself} came again by themselves`)
    return times
  }

  function requestLogged(): () => boolean {
    const count = () => server.stderr().split('"message":"request"').length
    const before = count()
    return () => count() > before
  }

  function readRequest(connection: string): string {
    const { headers, body } = wireRequest('legacy', 'tools/call', { name: 'read_messages', arguments: {} })
    const text = JSON.stringify(body)
    const all = { ...headers, Host: `127.0.0.1:${server.port}`, Authorization: `Bearer ${bob.key}` }
    const lines = Object.entries({ ...all, Connection: connection, 'Content-Length': `${text.length}` })
      .map(([name, value]) => `${name}: ${value}\r\n`)
    return `POST /mcp/v1/grid HTTP/1.1\r\n${lines.join('')}\r\n${text}`
  }
})
