import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { castBefore } from '../support/cast.ts'
import { wireRequest } from '../support/mcp.ts'
import { runtimes, startServe, temporaryPlace } from '../support/process.ts'
import { callTool } from './client.ts'

test.each(runtimes)(
  'Q2: %s: a read cut off after any number of bytes loses nothing and repeats only what it flags',
  async (runtime) => {
    const place = temporaryPlace()
    const { agents: [alice, bob] } = await castBefore(place.url, ['alice', 'bob'])
    const server = await startServe(runtime, { DATABASE_URL: place.url })

    for (const bytes of [0, 0, 0, 1, 100, 300, 500, Infinity]) {
      const message = `cut after ${bytes}`
      await callTool(server.url, alice.key, 'send_message', { to: 'bob', message })
      await readAndCut(server.port, bob.key, bytes)
      // The server may be at its answer still, and take it back.
      await sleep(300)
      const next = await callTool(server.url, bob.key, 'read_messages')
      const last = await callTool(server.url, bob.key, 'read_messages', { since: 'last_batch' })
      expect(last.messages).toMatchObject([{ message, replayed: true }])
      // All of it was there, so it must not come again.
      if (bytes === Infinity) expect(next.messages).toEqual([])
      expect((await callTool(server.url, bob.key, 'read_messages')).messages).toEqual([])
    }

    await server.stop()
    place.remove()
  },
)

/** Read over a connection of its own and end it when so many bytes have come, at once, or when the server ends it. */
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
