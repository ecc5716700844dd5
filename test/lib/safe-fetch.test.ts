/** Requests to servers that users name (docs/security.md, "Outgoing requests"). */
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { isAllowedAddress } from '../../src/lib/egress-policy.ts'
import { RemoteError } from '../../src/lib/remote-error.ts'
import { createSafeFetch, type Resolver, type SafeFetchOptions, type SafeRequest } from '../../src/lib/safe-fetch.ts'
import { createLog } from '../../src/log.ts'
import { testCertificate } from '../support/certificate.ts'
import { hostileServers, jsonResponse, listenWith, type TestServer } from '../support/hostile.ts'
import { loopbackUrls, ssrfUrls } from '../support/ssrf-urls.ts'

const logs: string[] = []
const closing: (() => unknown)[] = []
afterEach(async () => {
  logs.length = 0
  await Promise.all(closing.splice(0).map((close) => close()))
})

describe('blocked targets', () => {
  let canary4: TestServer
  let canary6: TestServer | undefined
  beforeAll(async () => {
    canary4 = await listenWith((socket) => socket.end())
    // Not every container has an IPv6 loopback.
    canary6 = await listenWith((socket) => socket.end(), '::1').catch(() => undefined)
  })
  afterAll(async () => {
    await canary4.close()
    await canary6?.close()
  })
  const toLoopback: Resolver = (host) => Promise.resolve(/public/.test(host) ? [] : ['127.0.0.1', '::1'])

  test('no URL form of this machine or its network is connected to', async () => {
    const all = [canary4.port, canary6?.port ?? 0].flatMap(ssrfUrls)
    const fetch = safeFetch({}, { resolve: toLoopback })

    const reasons = await Promise.all(all.map((url) => reasonOf(fetch(url, quick))))

    expect(all.length / 2).toBeGreaterThan(150)
    // Some of them parse to a public host name, which has no address here.
    const notRefused = all.filter((url, i) => reasons[i] !== 'refused' && new URL(url).hostname !== 'public.example')
    expect(notRefused).toEqual([])
    expect([canary4.connections(), canary6?.connections() ?? 0]).toEqual([0, 0])
  })

  test('with private targets allowed, ports of this process are still refused', async () => {
    const all = loopbackUrls(canary4.port)
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: toLoopback, ownPorts: new Set([canary4.port]) })

    // The URLs that are not refused lead to other machines, which do not respond.
    await Promise.all(all.map((url) => reasonOf(fetch(url, { timeoutMs: 300 }))))

    expect(canary4.connections()).toBe(0)
  })

  test.each<[string, string[]]>([
    ['a loopback address', ['127.0.0.1']],
    ['a public and a loopback address', ['93.184.215.14', '127.0.0.1']],
    ['a public address and one of IPv6 loopback', ['93.184.215.14', '::1']],
    ['an address that is not an IP address', ['localhost']],
    ['an address with a zone', ['fe80::1%lo']],
  ])('a name with %s is refused', async (_, addresses) => {
    const fetch = safeFetch({}, { resolve: () => Promise.resolve(addresses) })

    expect(await reasonOf(fetch(`https://mixed.example:${canary4.port}/`, quick))).toBe('refused')
    expect(canary4.connections()).toBe(0)
  })

  test('a name is resolved once, and the checked address is used (DNS rebinding)', async () => {
    let lookups = 0
    const rebinding: Resolver = () => Promise.resolve(lookups++ % 2 === 0 ? ['192.0.2.1'] : ['127.0.0.1'])
    const fetch = safeFetch({}, { resolve: rebinding })

    const reasons = await Promise.all(
      Array.from({ length: 1_000 }, () => reasonOf(fetch(`https://rebind.example:${canary4.port}/`, quick))),
    )

    expect(lookups).toBe(1_000)
    expect(new Set(reasons)).toEqual(new Set(['refused']))
    expect(canary4.connections()).toBe(0)
  })

  test('the name is not resolved again after the check', async () => {
    const friendly = await open(jsonResponse('{}'))
    const other = await listenWith((socket) => socket.end(), '127.0.0.2')
    closing.push(other.close)
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: () => Promise.resolve(answers.shift()!) })

    await fetch(`http://rebind.example:${friendly.port}/`, quick)

    expect(answers).toEqual([['127.0.0.2']])
    expect([friendly.connections(), other.connections()]).toEqual([1, 0])
  })

  test('a redirect to another server fails and is not followed', async () => {
    const target = `http://127.0.0.1:${canary4.port}/`
    const redirecting = await open((socket) =>
      socket.end(`HTTP/1.1 307 Go\r\nLocation: ${target}\r\nContent-Length: 0\r\n\r\n`)
    )
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })

    expect(await reasonOf(fetch(`http://127.0.0.1:${redirecting.port}/`, quick))).toBe('redirected')
    expect(canary4.connections()).toBe(0)
  })

  test('BLOCKED_TARGETS are refused even if private targets are allowed', async () => {
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1', BLOCKED_TARGETS: '127.0.0.0/8,::1' })

    expect(await reasonOf(fetch(`http://127.0.0.1:${canary4.port}/`, quick))).toBe('refused')
    expect(await reasonOf(fetch(`http://[::1]:${canary4.port}/`, quick))).toBe('refused')
  })

  test.each([
    '169.254.169.254',
    '169.254.0.1',
    '[fe80::1]',
    '[ff02::1]',
    '224.0.0.1',
    '0.0.0.0',
    '[::]',
    '255.255.255.255',
    '168.63.129.16',
    '100.100.100.200',
    '192.0.0.192',
    '[fd00:ec2::254]',
    '[fd20:ce::254]',
    '[::ffff:169.254.169.254]',
    '[::ffff:168.63.129.16]',
    '[::ffff:100.100.100.200]',
    '[::ffff:192.0.0.192]',
    '[64:ff9b::a9fe:a9fe]',
  ])('with private targets allowed %s is still refused', async (host) => {
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })

    expect(await reasonOf(fetch(`http://${host}:8080/`, { timeoutMs: 200 }))).toBe('refused')
  })

  test.each(['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd00::1', '127.0.0.1', '::1', '::ffff:10.0.0.1'])(
    '%s is allowed only with private targets',
    (address) => {
      expect(isAllowedAddress(address, readConfig({ ALLOW_PRIVATE_TARGETS: '1' }))).toBe(true)
      expect(isAllowedAddress(address, readConfig({}))).toBe(false)
    },
  )

  test.each(['93.184.215.14', '2606:2800:21f:cb07::1', '::ffff:93.184.215.14'])('%s is allowed', (address) => {
    expect(isAllowedAddress(address, readConfig({}))).toBe(true)
  })
})

describe('responses', () => {
  const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })

  test('a POST has the fixed headers and those of the caller', async () => {
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

  test.each(hostileServers)('a server that $name causes an error in time', async ({ answer }) => {
    const { port } = await open(answer)
    const startedAt = performance.now()

    await expect(fetch(`http://127.0.0.1:${port}/`, { timeoutMs: 500 })).rejects.toThrow(RemoteError)

    expect(performance.now() - startedAt).toBeLessThan(8_000)
  })

  test.each([[100, true], [101, false]])(
    'with a limit of 100 bytes a response of %i is accepted: %s',
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
  ])('JSON that is %s is refused', async (_, body) => {
    const { port } = await open(jsonResponse(body))
    const response = await fetch(`http://127.0.0.1:${port}/`, quick)

    expect(() => response.json()).toThrow(RemoteError)
  })

  test('a body of another type is not parsed as JSON', async () => {
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

  test('the caller can abort', async () => {
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

  test('all failures have the same message, and the log has the reason', async () => {
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

  test('the certificate must name the host and be trusted', async () => {
    const port = await openTls()
    const there: Resolver = () => Promise.resolve(['127.0.0.1'])
    const trusting = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: there, ca: certificate.cert })
    const strict = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: there })

    expect((await trusting(`https://remote.example:${port}/`, quick)).json()).toEqual({
      host: `remote.example:${port}`,
    })
    expect(await reasonOf(trusting(`https://other.example:${port}/`, quick))).toBe('not_connected')
    expect(await reasonOf(trusting(`https://127.0.0.1:${port}/`, quick))).toBe('not_connected')
    expect(await reasonOf(strict(`https://remote.example:${port}/`, quick))).toBe('not_connected')
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
        `Proxy-Authorization: Basic ${btoa('ann:p@ss')}`,
      ],
      [
        `CONNECT 127.0.0.1:${port} HTTP/1.1`,
        `Host: 127.0.0.1:${port}`,
        `Proxy-Authorization: Basic ${btoa('ann:p@ss')}`,
      ],
    ])
  })

  test.each([
    ['refuses', 'HTTP/1.1 403 Forbidden\r\n\r\n'],
    ['sends more than its response', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['does not speak HTTP', 'x'.repeat(20_000)],
  ])('a proxy that %s is an error', async (_, text) => {
    const { port } = await open((socket) => socket.end(text))
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1', EGRESS_PROXY: `http://127.0.0.1:${port}` })

    expect(await reasonOf(fetch('http://10.0.0.1/', quick))).toBe('not_connected')
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

const quick: SafeRequest = { timeoutMs: 5_000 }

function safeFetch(env: Record<string, string>, options: Partial<SafeFetchOptions> = {}) {
  const log = createLog('debug', (line) => logs.push(line))
  return createSafeFetch({ config: readConfig(env), log, ownPorts: new Set(), ...options })
}

function reasonOf(response: Promise<unknown>): Promise<string> {
  return response.then(() => 'answered', reasonFrom)
}

function reasonFrom(error: unknown): string {
  if (!(error instanceof RemoteError)) throw error
  return error.reason
}

async function open(respond: (socket: Socket) => void, onText?: (text: string) => void): Promise<TestServer> {
  const listening = await listenWith(respond, '127.0.0.1', onText)
  closing.push(listening.close)
  return listening
}

/** A CONNECT proxy that records its requests. */
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
  return { proxy: `http://ann:p%40ss@127.0.0.1:${(server.address() as AddressInfo).port}`, connects }
}
