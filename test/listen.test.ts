/** Whether the listener reports that a response was sent. Only on Node; the other runtimes do not report it. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listen, type Listener } from '../src/listen.ts'

/** More than the socket buffers of a connection hold. */
const big = 'x'.repeat(20_000_000)

let server: Listener
let sent: Promise<boolean>
beforeAll(async () => {
  server = await listen((request, connection) => {
    sent = connection.answerTaken!()
    const { pathname } = new URL(request.url)
    return new Response(pathname === '/stream' ? new Blob([big]).stream() : pathname === '/big' ? big : 'small')
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
])('a client reads %s up to %d bytes: the response was sent, %s', async (path, bytes, isAll) => {
  const socket = connect(server.port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`)
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
    if (received >= bytes) socket.destroy()
  })
  await once(socket, 'close')

  expect(await sent).toBe(isAll)
})

test('each response of one connection is reported', async () => {
  for (let n = 0; n < 3; n++) {
    await (await fetch(`http://127.0.0.1:${server.port}/small`)).text()
    expect(await sent).toBe(true)
  }
})
