/** The listener's reports on whether a client has received a response. Bun has none, and Deno is tested in `e2e/`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { minute } from '../src/lib/time.ts'
import { listen, type Listener } from '../src/listen.ts'
import { waitFor } from './support/wait-for.ts'

/** A text that is larger than a connection's socket buffers. */
const big = 'x'.repeat(20_000_000)

let server: Listener
/** The latest report for each path. */
const sent = new Map<string, Promise<boolean>>()
/** The paths whose newest response has been sent, or whose timeout has passed. */
const ended = new Set<string>()
/** The number of cancelled streams of `/held`. */
let cancelled = 0
beforeAll(async () => {
  server = await listen((request, connection) => {
    const { pathname } = new URL(request.url)
    sent.set(pathname, connection.answerTaken!())
    connection.answerSent!(pathname.startsWith('/stalled') ? 300 : 60_000).then(() => ended.add(pathname))
    if (pathname === '/held') return new Response(new ReadableStream({ cancel: () => void cancelled++ }))
    return new Response(pathname === '/stream' ? new Blob([big]).stream() : pathname.endsWith('big') ? big : 'small')
  }, { port: 0, host: '127.0.0.1' })
})
afterAll(() => server.stop(100))

test.each([
  ['/small', Infinity, true],
  ['/big', Infinity, true],
  ['/stream', Infinity, true],
  ['/small', 1, true],
  ['/big', 100, false],
  ['/stream', 100, false],
  ['/big', 1_000_000, false],
])('a client that reads %s up to %d bytes has received the response: %s', async (path, bytes, isAll) => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
    if (received >= bytes) socket.destroy()
  })
  await once(socket, 'close')

  expect(await sent.get(path)).toBe(isAll)
})

test('each response of one connection is reported', async () => {
  const reports = []
  for (const path of ['/first', '/second', '/third']) {
    await (await fetch(`http://127.0.0.1:${server.port}${path}`)).text()
    reports.push(sent.get(path))
  }

  expect(await Promise.all(reports)).toEqual([true, true, true])
})

test.each(['keep-alive', 'close'])(
  'a client that disconnects without reading the response has not received it: %s',
  async (header) => {
    const path = `/unread-${header}`
    const socket = connect(server.port, '127.0.0.1')
    // Unread data stays with the operating system, which then resets the connection.
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: ${header}\r\n\r\n`)
    await waitFor('the request', () => sent.has(path))
    // The first response was written in the same turn as its request, and therefore before this one.
    await (await fetch(`http://127.0.0.1:${server.port}/other`)).text()
    socket.destroy()

    expect(await sent.get(path)).toBe(false)
  },
)

test('a request shows that the previous response was received, even if its own response is not', async () => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write('GET /before HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await once(socket, 'data')
  socket.write('GET /unread-next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await waitFor('the request', () => sent.has('/unread-next'))
  await (await fetch(`http://127.0.0.1:${server.port}/other`)).text()
  socket.resetAndDestroy()

  expect(await sent.get('/unread-next')).toBe(false)
  expect(await sent.get('/before')).toBe(true)
})

test('the streams requested on one connection end when it closes', async () => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write('GET /held HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(3))
  await once(socket, 'data')
  socket.destroy()

  await waitFor('their end', () => cancelled === 3)
})

test('a response counts as sent once the client has it, without another request', async () => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write('GET /kept HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await once(socket, 'data')

  const startedAt = performance.now()
  await waitFor('the report', () => ended.has('/kept'))
  expect(performance.now() - startedAt).toBeLessThan(900)
  socket.destroy()
})

test('a client that does not read its response in time is disconnected', async () => {
  const socket = connect(server.port, '127.0.0.1')
  socket.pause()
  socket.write('GET /stalled-big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await waitFor('the end', () => ended.has('/stalled-big'))

  socket.resume()
  socket.on('error', () => {})
  await once(socket, 'close')
})

test('a client that reads nothing of its response for a while is disconnected', async () => {
  let isEnded = false
  const impatient = await listen((_, connection) => {
    connection.answerSent!(10 * minute).then(() => isEnded = true)
    return new Response(big)
  }, { port: 0, host: '127.0.0.1', maxStallMs: 300 })
  onTestFinished(() => impatient.stop(100))
  const socket = connect(impatient.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')

  await waitFor('the end', () => isEnded)
})

test('a stop under load resets no connection that waits to be accepted', async () => {
  const busy = await listen(() => {
    for (const until = performance.now() + 3; performance.now() < until;);
    return new Response('served')
  }, { port: 0, host: '127.0.0.1' })
  // The clients run in another process, so that connections wait while the server is busy.
  const clients = spawn(process.execPath, ['-e', clientsUntilRefused, String(busy.port)])
  await once(clients.stdout, 'data')

  await busy.stop(5_000)
  const [result] = await once(clients.stdout, 'data')

  expect(String(result)).toBe('0 reset')
})

/** Ten clients with a connection per request. Prints how many connections were reset, once others are refused. */
const clientsUntilRefused = `
  const { connect } = require('node:net')
  let served = 0, reset = 0
  const request = () => new Promise((done) => {
    let state = 'refused'
    const socket = connect(process.argv[1], '127.0.0.1', () => {
      state = 'reset'
      socket.write('GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n')
    })
    socket.on('data', () => state = 'served').on('error', () => {}).on('close', () => done(state))
  })
  const client = async () => {
    for (let state; (state = await request()) !== 'refused';) {
      if (state === 'reset') reset++
      else if (++served === 50) process.stdout.write('under load')
    }
  }
  Promise.all(Array.from({ length: 10 }, client)).then(() => process.stdout.write(reset + ' reset'))
`
