/** Incomplete and malformed requests, which a runtime cannot read. See docs/operating/install.md, "Runtimes". */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { isLong } from '../support/long.ts'
import { type Runtime, runtimes, type ServerProcess, startServe, temporaryDatabase } from '../support/process.ts'
import { waitFor } from '../support/wait-for.ts'

let server: ServerProcess
const databases: ReturnType<typeof temporaryDatabase>[] = []
afterEach(async () => {
  await server.stop()
  databases.splice(0).forEach((database) => database.remove())
})

const json = 'application/json'
const form = 'application/x-www-form-urlencoded'

test.each(runtimes)('%s: an interrupted upload does not cause an error in the log', async (runtime) => {
  await start(runtime)
  let sent = 0
  for (
    const [path, type] of [
      ['/api/v1/agentic-signup', json],
      ['/mcp/v1/signup', json],
      ['/oauth/token', form],
      ['/oauth/register', json],
      ['/sign-in', form],
    ]
  ) {
    for (const [length, text] of [['Content-Length: 999', '{"a":'], ['Transfer-Encoding: chunked', '5\r\n{"a":\r\n']]) {
      const socket = open(['POST', path], [`Content-Type: ${type}`, `Accept: ${json}, text/event-stream`, length], text)
      await once(socket, 'connect')
      // Wait until the server has read the request's head. Otherwise the server may see the disconnection first.
      await fetch(`${server.url}/healthz`)
      socket.destroy()
      sent++
      await waitFor('the log line of the request', () => requestsLogged() === sent)
    }
  }
  const { stderr } = await server.stop()
  // The only expected warning is that the first start created a key ring.
  expect(stderr.replace(/.*A new key ring was created.*/, '')).not.toMatch(/"level":"(warn|error)"/)
})

// With a plain `option httpchk`, HAProxy sends requests without Host.
test.each(runtimes)(
  '%s: a request without Host gets 200 at probes and 400 elsewhere, without an error in the log',
  async (runtime) => {
    await start(runtime)
    const send = async (line: string, ...headers: string[]) => {
      const socket = connect(server.port, '127.0.0.1')
      socket.write([line, ...headers, '', ''].join('\r\n'))
      let answer = ''
      for await (const text of socket.setEncoding('utf8')) {
        answer += text
        if (answer.includes('\r\n\r\n')) break
      }
      return Number(answer.split(' ')[1])
    }

    for (const path of ['/healthz', '/readyz']) {
      for (const method of ['GET', 'HEAD']) {
        expect([path, await send(`${method} ${path} HTTP/1.0`)]).toEqual([
          path,
          200,
        ])
      }
    }
    for (
      const line of [
        'GET / ',
        'OPTIONS / ',
        'GET /api/v1/me ',
        'POST /mcp/v1/grid ',
        'GET //healthz ',
        'GET /healthz/x ',
      ]
    ) {
      expect([line, await send(`${line}HTTP/1.0`)]).toEqual([line, 400])
      expect([line, await send(`${line}HTTP/1.1`)]).toEqual([line, 400])
      expect([line, await send(`${line}HTTP/1.1`, 'Host:')]).toEqual([line, 400])
    }
    const { stderr } = await server.stop()
    expect(stderr).not.toContain('"level":"error"')
  },
)

// Not on Bun, which itself refuses malformed requests, without a body.
test.each(['node', 'deno'] as const)('%s: a malformed request gets an error response with a body', async (runtime) => {
  await start(runtime)

  expect(await answerTo(open(['GET', '/healthz'], [`X: ${'x'.repeat(17_000)}`]))).toEqual([
    'HTTP/1.1 431 Request Header Fields Too Large',
    { error: { code: 'headers_too_large', message: 'The headers of the request are larger than 16 KiB.' } },
  ])
  const notHttp = [
    'HTTP/1.1 400 Bad Request',
    { error: { code: 'invalid_request', message: 'This is not an HTTP request.' } },
  ]
  expect(await answerTo(open(['NONSENSE', '\0']))).toEqual(notHttp)
  const brokenChunk = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
  expect(await answerTo(open(['POST', '/api/v1/agentic-signup'], brokenChunk, 'zz\r\n'))).toEqual(notHttp)
})

async function start(runtime: (typeof runtimes)[number]): Promise<void> {
  const database = temporaryDatabase()
  databases.push(database)
  server = await startServe(runtime, { DATABASE_URL: database.url, LOG_LEVEL: 'debug' })
}

/** Returns the number of requests other than probes that the server has logged. */
function requestsLogged(): number {
  return server.stderr().split('"message":"request"').length - 1 -
    server.stderr().split('"path":"/healthz"').length + 1
}

function open([method, path]: string[], headers: string[] = [], body = ''): Socket {
  const socket = connect(server.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write([`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${server.port}`, ...headers, '', body].join('\r\n'))
  return socket
}

/** Returns the status line and the body of a response. */
async function answerTo(socket: Socket): Promise<[string, unknown]> {
  let answer = ''
  socket.setEncoding('utf8').on('data', (text) => answer += text)
  await once(socket, 'close')
  const [head, body] = answer.split('\r\n\r\n')
  return [head.split('\r\n')[0], JSON.parse(body)]
}

const head = 'POST /api/v1/agentic-signup HTTP/1.1\r\nContent-Type: application/json\r\n'

/** The bytes that a client sends first, and the bytes that it then sends every second. */
const requests: Record<string, { first: string; then?: string }> = {
  'nothing': { first: '' },
  'half a header': { first: head },
  'half a body': { first: `${head}Host: localhost\r\nContent-Length: 1000\r\n\r\n{` },
  'a header in drips': { first: head, then: 'X-Drip: 1\r\n' },
  'a body in drips': { first: `${head}Host: localhost\r\nContent-Length: 1000\r\n\r\n{`, then: ' ' },
}

/** The requests whose connection is closed. On Bun, each byte resets the timeout, so slow requests stay open. */
const closed: Record<Runtime, string[]> = {
  node: Object.keys(requests),
  deno: Object.keys(requests),
  bun: ['nothing', 'half a header', 'half a body'],
}

describe.runIf(isLong)('requests that clients send slowly or incompletely', { concurrent: true }, () => {
  test.each(runtimes)('on %s, connections with incomplete or slow requests are closed within 40 s', async (runtime) => {
    const database = temporaryDatabase()
    const server = await startServe(runtime, { DATABASE_URL: database.url })
    const names = closed[runtime]
    const seconds = await Promise.all(names.map((name) => secondsUntilClosed(server.port, requests[name])))
    await server.stop()
    database.remove()

    expect(names.filter((_, n) => seconds[n] > 40)).toEqual([])
  })
})

/** Returns the seconds until the server closes the connection, at most 60. */
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
