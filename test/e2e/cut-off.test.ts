import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { wireRequest } from '../support/mcp.ts'
import { runtimes, startServe, temporaryDatabase } from '../support/process.ts'
import { seedAgents } from '../support/seed-agents.ts'
import { waitFor } from '../support/wait-for.ts'
import { callTool } from './client.ts'

test.each(runtimes)(
  '%s: a read cut off after any number of bytes loses nothing and repeats only what it flags',
  async (runtime) => {
    const database = temporaryDatabase()
    const { agents: [alice, bob] } = await seedAgents(database.url, ['alice', 'bob'])
    const server = await startServe(runtime, { DATABASE_URL: database.url, LOG_LEVEL: 'debug' })
    const answered = () => server.stderr().split('"message":"request"').length - 1

    for (const bytes of [0, 0, 1, 300, Infinity]) {
      const message = `cut after ${bytes}`
      await callTool(server.url, alice.key, 'send_message', { to: 'bob', message })
      const before = answered()
      await readAndCut(server.port, bob.key, bytes)
      await waitFor('the log line of the read', () => answered() > before)
      // The server may still release the lease. A later write is committed after that.
      await callTool(server.url, bob.key, 'send_message', { to: 'alice', message: 'later' })
      const next = await callTool(server.url, bob.key, 'read_messages')
      const last = await callTool(server.url, bob.key, 'read_messages', { since: 'last_batch' })
      expect(last.messages).toMatchObject([{ message, replayed: true }])
      // The whole answer arrived, so the message must not come again.
      if (bytes === Infinity) expect(next.messages).toEqual([])
      expect((await callTool(server.url, bob.key, 'read_messages')).messages).toEqual([])
    }

    await server.stop()
    database.remove()
  },
)

/** Read over a new connection and end it after `bytes` bytes of the answer; with 0 at once, with Infinity never. */
function readAndCut(port: number, key: string, bytes: number): Promise<void> {
  const { headers, body } = wireRequest('legacy', 'tools/call', { name: 'read_messages', arguments: {} })
  const text = JSON.stringify(body)
  const all = { ...headers, Host: `127.0.0.1:${port}`, Authorization: `Bearer ${key}`, Connection: 'close' }
  const lines = Object.entries({ ...all, 'Content-Length': `${text.length}` }).map(([name, value]) =>
    `${name}: ${value}\r\n`
  )
  return new Promise((ended) => {
    let received = 0
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST /mcp/v1/grid HTTP/1.1\r\n${lines.join('')}\r\n${text}`, () => bytes === 0 && socket.destroy())
    socket.on('data', (chunk) => {
      received += chunk.length
      if (received >= bytes) socket.destroy()
    })
    socket.on('close', () => ended())
  })
}
