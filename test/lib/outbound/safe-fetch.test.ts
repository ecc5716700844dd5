/** Responses of servers that users name, and their TLS connections (docs/security.md, "Outgoing requests"). */
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { RemoteError } from '../../../src/lib/outbound/remote-error.ts'
import type { Resolver } from '../../../src/lib/outbound/safe-stream.ts'
import { testCertificate } from '../../support/certificate.ts'
import { hostileServers, jsonResponse } from '../../support/hostile.ts'
import { failureOf, quick, reasonFrom, reasonOf, testSafeFetch } from '../../support/safe-fetch.ts'
import { waitFor } from '../../support/wait-for.ts'

const { closing, logs, open, safeFetch } = testSafeFetch()

const failsWith = (code: string) => () => Promise.reject(Object.assign(new Error('lookup'), { code }))

describe('responses to outgoing requests', () => {
  const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })

  test("a POST is sent with the fixed headers and the caller's headers", async () => {
    let received = ''
    const { port } = await open((socket) => jsonResponse('{"a":1}', 'X-Seen: yes')(socket), (text) => received = text)

    const response = await fetch(`http://127.0.0.1:${port}/a/b?c=d#e`, {
      ...quick,
      body: '{"q":"ü"}',
      headers: { Authorization: 'Bearer x', Accept: 'text/plain' },
    })

    expect([response.status, response.json(), response.header('x-seen')]).toEqual([200, { a: 1 }, 'yes'])
    expect(received.split('\r\n')).toEqual(expect.arrayContaining([
      'POST /a/b?c=d HTTP/1.1',
      `Host: 127.0.0.1:${port}`,
      'Accept: text/plain',
      'Accept-Encoding: identity',
      'Authorization: Bearer x',
      'Content-Type: application/json',
      'Content-Length: 10',
      'Connection: close',
    ]))
  })

  test.each([404, 410, 429, 500])('a response with status %i is returned', async (status) => {
    const { port } = await open((socket) =>
      socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\nRetry-After: 5\r\n\r\n`)
    )

    const response = await fetch(`http://127.0.0.1:${port}/`, quick)

    expect([response.status, response.header('retry-after')]).toEqual([status, '5'])
  })

  test.each(hostileServers)('a request fails in time if the server $name', async ({ answer }) => {
    const { port } = await open(answer)
    const startedAt = performance.now()

    await expect(fetch(`http://127.0.0.1:${port}/`, { timeoutMs: 500 })).rejects.toThrow(RemoteError)

    expect(performance.now() - startedAt).toBeLessThan(8_000)
  })

  test.each([[100, true], [101, false]])(
    'with a limit of 100 bytes, a response of %i is accepted: %s',
    async (size, ok) => {
      const { port } = await open(jsonResponse(JSON.stringify('x'.repeat(size - 2))))

      const result = await fetch(`http://127.0.0.1:${port}/`, { ...quick, maxBytes: 100 }).then(() => true, reasonFrom)

      expect(result).toBe(ok ? true : 'too_large')
    },
  )

  test.each([
    ['deep', '['.repeat(33) + ']'.repeat(33)],
    ['of many values', `[${'1,'.repeat(5_001)}1]`],
    ['broken', '{"a":'],
    ['naming a prototype', '{"__proto__":{"x":1}}'],
  ])('a JSON response that is %s is refused', async (_, body) => {
    const { port } = await open(jsonResponse(body))
    const response = await fetch(`http://127.0.0.1:${port}/`, quick)

    expect(() => response.json()).toThrow(RemoteError)
  })

  test('a body with another content type is not parsed as JSON', async () => {
    const { port } = await open((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n{}')
    )
    const response = await fetch(`http://127.0.0.1:${port}/`, quick)

    expect(response.text).toBe('{}')
    expect(() => response.json()).toThrow(RemoteError)
  })

  test.each<[string, Record<string, string>]>([
    ['a line end', { 'X-A': 'a\r\nX-B: b' }],
    ['a line feed', { 'X-A': 'a\nb' }],
    ['NUL', { 'X-A': 'a\0b' }],
    ['other letters', { 'X-A': 'ü' }],
    ['a name with a line end', { 'X-A\r\nX-B': 'a' }],
    ['a name with a colon', { 'X-A: b\r\nX': 'a' }],
    ['Host', { Host: 'other.example' }],
    ['another length', { 'content-length': '1' }],
    ['an encoding', { 'Transfer-Encoding': 'chunked' }],
  ])('a header with %s is refused before anything is sent', async (_, headers) => {
    const server = await open(jsonResponse('{}'))

    expect(await reasonOf(fetch(`http://127.0.0.1:${server.port}/`, { ...quick, headers }))).toBe('refused')
    expect(server.connections()).toBe(0)
  })

  test('the caller can abort a request', async () => {
    const caller = new AbortController()
    const { port } = await open(() => caller.abort())

    expect(await reasonOf(fetch(`http://127.0.0.1:${port}/`, { timeoutMs: 60_000, signal: caller.signal }))).toBe(
      'aborted',
    )
    expect(await reasonOf(fetch(`http://127.0.0.1:${port}/`, { timeoutMs: 60_000, signal: caller.signal }))).toBe(
      'aborted',
    )
  })

  test('a resolver that never resolves is aborted at the deadline', async () => {
    const fetch = safeFetch({}, { resolve: () => new Promise(() => {}) })

    expect(await reasonOf(fetch('https://slow.example/', { timeoutMs: 50 }))).toBe('timeout')
  })

  test.each<[string, Resolver | undefined, ((socket: Socket) => void) | undefined, string]>([
    ['a port that nobody listens at', undefined, undefined, 'It refused the connection.'],
    ['no address', () => Promise.resolve([]), undefined, 'Its name was not found.'],
    ['an unknown name', failsWith('ENOTFOUND'), undefined, 'Its name was not found.'],
    ['no name server', failsWith('EAI_AGAIN'), undefined, 'The name server did not answer.'],
    ['silence', undefined, () => {}, 'It did not answer within 0.2 s.'],
    ['silence of the name server', () => new Promise(() => {}), undefined, 'There was no connection within 0.2 s.'],
    ['an end', undefined, (socket) => socket.end(), 'It closed the connection before its answer was complete.'],
    [
      'a redirect',
      undefined,
      (socket) => socket.end('HTTP/1.1 307 X\r\nContent-Length: 0\r\n\r\n'),
      'It redirected (307), which is not followed.',
    ],
  ])('the reason why a request failed is explained: %s', async (_, resolve, respond, why) => {
    const port = respond ? (await open(respond)).port : 1024
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, resolve && { resolve })

    expect(
      (await failureOf(fetch(`http://${resolve ? 'remote.example' : '127.0.0.1'}:${port}/`, { timeoutMs: 200 })))[1],
    ).toBe(why)
  })

  test('all failures have the same message, and the reason is logged', async () => {
    const { port } = await open((socket) => socket.end())
    const errors = await Promise.all([
      'http://127.0.0.1:1024/',
      `http://127.0.0.1:${port}/`,
      'http://169.254.169.254/',
      'nonsense',
    ].map((url) => fetch(url, quick).then(() => undefined, (error) => [error.code, error.message])))

    expect(new Set(errors.map((error) => JSON.stringify(error)))).toHaveLength(1)
    expect(errors[0]).toEqual(['remote_unreachable', expect.any(String)])
    expect(logs.join('\n')).toContain('169.254.169.254 is not allowed')
  })
})

describe('TLS', () => {
  const certificate = testCertificate('remote.example')

  test('a TLS server needs a trusted certificate that names the host', async () => {
    const port = await openTls()
    const there: Resolver = () => Promise.resolve(['127.0.0.1'])
    const trusting = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: there, ca: certificate.cert })
    const strict = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: there })

    expect((await trusting(`https://remote.example:${port}/`, quick)).json()).toEqual({
      host: `remote.example:${port}`,
    })
    const other = ['not_connected', 'Its TLS certificate is for another name.']
    expect(await failureOf(trusting(`https://other.example:${port}/`, quick))).toEqual(other)
    expect(await failureOf(trusting(`https://127.0.0.1:${port}/`, quick))).toEqual(other)
    const untrusted = ['not_connected', 'Its TLS certificate is not trusted.']
    expect(await failureOf(strict(`https://remote.example:${port}/`, quick))).toEqual(untrusted)
  })

  test('a proxy gets the checked address, and the certificate is still verified', async () => {
    const port = await openTls()
    const { proxy, connects } = await openProxy()
    const options = { resolve: () => Promise.resolve(['127.0.0.1']), ca: certificate.cert }
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1', EGRESS_PROXY: proxy }, options)

    expect((await fetch(`https://remote.example:${port}/`, quick)).json()).toEqual({ host: `remote.example:${port}` })
    expect(await reasonOf(fetch(`https://other.example:${port}/`, quick))).toBe('not_connected')
    expect(await reasonOf(fetch('http://169.254.169.254/', quick))).toBe('refused')
    expect(connects.map((text) => text.split('\r\n').slice(0, 3))).toEqual([
      [
        `CONNECT 127.0.0.1:${port} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        `Proxy-Authorization: Basic ${Buffer.from('ann:p@€').toString('base64')}`,
      ],
      [
        `CONNECT 127.0.0.1:${port} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        `Proxy-Authorization: Basic ${Buffer.from('ann:p@€').toString('base64')}`,
      ],
    ])
  })

  test.each([
    ['refuses', 'HTTP/1.1 403 Forbidden\r\n\r\n', 'The proxy responded HTTP/1.1 403'],
    ['refuses with a body', 'HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nNo', 'The proxy responded HTTP/1.1 407'],
    ['sends more than its response', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', 'more than its response'],
    ['does not speak HTTP', 'x'.repeat(20_000), 'The proxy responded xxx'],
  ])('a request fails and closes the connection if the proxy %s', async (_, text, reason) => {
    let isClosed = false
    const { port } = await open((socket) => socket.on('close', () => isClosed = true).resume().write(text))
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1', EGRESS_PROXY: `http://127.0.0.1:${port}` })

    expect(await reasonOf(fetch('http://10.0.0.1/', quick))).toBe('not_connected')
    expect(logs.at(-1)).toContain(reason)
    await waitFor('the end of the connection', () => isClosed)
  })

  async function openTls(): Promise<number> {
    const server = createTlsServer(certificate, (request, response) => {
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify({ host: request.headers.host }))
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    closing.push(() => server.closeAllConnections())
    return (server.address() as AddressInfo).port
  }
})

/** Starts a CONNECT proxy that records its requests. */
async function openProxy() {
  const connects: string[] = []
  const server = createServer((socket) => {
    closing.push(() => socket.destroy())
    socket.on('error', () => {})
    socket.once('data', (head) => {
      connects.push(String(head))
      const [, host, port] = String(head).match(/^CONNECT ([\d.]+):(\d+)/)!
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        socket.pipe(onward).pipe(socket)
      })
      socket.on('close', () => onward.destroy())
      onward.on('error', () => socket.destroy())
    })
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  closing.push(() => new Promise((closed) => server.close(closed)))
  return { proxy: `http://ann:p%40%E2%82%AC@127.0.0.1:${(server.address() as AddressInfo).port}`, connects }
}
