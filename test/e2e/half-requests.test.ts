/** Requests that never end are closed in time, on each runtime. See docs/operations.md, "Timeouts of the runtimes". */
import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { type Runtime, runtimes, startServe, temporaryDatabase } from '../support/process.ts'
import { waitFor } from '../support/wait-for.ts'

const head = 'POST /api/v1/agentic-signup HTTP/1.1\r\nContent-Type: application/json\r\n'

/** What clients send first, and then every second. */
const requests: Record<string, { first: string; then?: string }> = {
  'nothing': { first: '' },
  'half a header': { first: head },
  'half a body': { first: `${head}Host: localhost\r\nContent-Length: 1000\r\n\r\n{` },
  'a header in drips': { first: head, then: 'X-Drip: 1\r\n' },
  'a body in drips': { first: `${head}Host: localhost\r\nContent-Length: 1000\r\n\r\n{`, then: ' ' },
}

/** Every byte begins the time of Bun anew, so what drips is not closed there. */
const closed: Record<Runtime, string[]> = {
  node: Object.keys(requests),
  deno: Object.keys(requests),
  bun: ['nothing', 'half a header', 'half a body'],
}

describe.each(runtimes)('on %s', { concurrent: true }, (runtime) => {
  test.runIf(isLong)('what comes in halves or in drips is closed within 40 s', async () => {
    const database = temporaryDatabase()
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const names = closed[runtime]
    const seconds = await Promise.all(names.map((name) => secondsUntilClosed(server.port, requests[name])))
    await server.stop()
    database.remove()

    expect(names.filter((_, n) => seconds[n] > 40)).toEqual([])
  })

  test('headers above 16 KiB are refused with 431, and those below are not', async () => {
    const database = temporaryDatabase()
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const statusOf = (bytes: number) =>
      firstLine(
        server.port,
        `GET /healthz HTTP/1.1\r\nHost: localhost:${server.port}\r\nX-Long: ${'x'.repeat(bytes)}\r\n\r\n`,
      )
    const [short, long] = [await statusOf(15_000), await statusOf(20_000)]
    await server.stop()
    database.remove()

    expect(short).toContain(' 200 ')
    expect(long).toContain(' 431 ')
  })
})

/** The seconds until the server has closed the connection, at most a minute. */
async function secondsUntilClosed(port: number, { first, then }: { first: string; then?: string }): Promise<number> {
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1_000
  const socket = connect(port, '127.0.0.1')
  socket.resume()
  socket.on('error', () => {})
  socket.write(first)
  let drips = 0
  await waitFor('the end of the connection', () => {
    if (then !== undefined && seconds() > drips + 1) {
      socket.write(then)
      drips++
    }
    return socket.closed || seconds() > 55
  })
  socket.destroy()
  return seconds()
}

function firstLine(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', reject)
    socket.once('data', (bytes) => {
      socket.destroy()
      resolve(bytes.toString().split('\r\n')[0])
    })
    socket.write(request)
  })
}
