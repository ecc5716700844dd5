/** Which servers outgoing requests may reach (docs/security.md, "Outgoing requests"). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import { isAllowedAddress } from '../../../src/lib/outbound/egress-policy.ts'
import type { Resolver } from '../../../src/lib/outbound/safe-stream.ts'
import { jsonResponse, listenWith, type TestServer } from '../../support/hostile.ts'
import { quick, reasonOf, testSafeFetch } from '../../support/safe-fetch.ts'
import { loopbackUrls, ssrfUrls } from '../../support/ssrf-urls.ts'

const { closing, open, safeFetch } = testSafeFetch()

describe('blocked targets of outgoing requests', () => {
  let canary4: TestServer
  let canary6: TestServer | undefined
  beforeAll(async () => {
    canary4 = await listenWith((socket) => socket.end())
    // IPv6 is tested only where it exists, because not every container has an IPv6 loopback.
    canary6 = await listenWith((socket) => socket.end(), '::1').catch(() => undefined)
  })
  afterAll(async () => {
    await canary4.close()
    await canary6?.close()
  })
  const toLoopback: Resolver = (host) => Promise.resolve(/public/.test(host) ? [] : ['127.0.0.1', '::1'])

  test('a request never connects to any URL form of this machine or its network', async () => {
    const all = [canary4.port, canary6?.port ?? 0].flatMap(ssrfUrls)
    const fetch = safeFetch({}, { resolve: toLoopback })

    const reasons = await Promise.all(all.map((url) => reasonOf(fetch(url, quick))))

    expect(all.length / 2).toBeGreaterThan(100)
    // Some URLs parse to a public host name, which is allowed but does not resolve here.
    const notRefused = all.filter((url, i) => reasons[i] !== 'refused' && new URL(url).hostname !== 'public.example')
    expect(notRefused).toEqual([])
    expect([canary4.connections(), canary6?.connections() ?? 0]).toEqual([0, 0])
  })

  test.each([0, 25, 79, 81, 1023, 3306, 6379])(
    'a request to port %i of a public server is refused before its name is resolved',
    async (port) => expect(await tryPort(port)).toEqual({ resolved: [], reason: 'refused' }),
  )

  test.each([80, 443, 1024, 8443])('a request to port %i of a public server is allowed', async (port) => {
    expect(await tryPort(port)).toEqual({ resolved: ['public.example'], reason: 'not_connected' })
  })

  async function tryPort(port: number) {
    const resolved: string[] = []
    const resolve: Resolver = (host) => {
      resolved.push(host)
      return Promise.resolve([])
    }
    const reason = await reasonOf(safeFetch({}, { resolve })(`https://public.example:${port}/`, quick))
    return { resolved, reason }
  }

  test('a request to a port of this process is refused even if private targets are allowed', async () => {
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
  ])('a request to a name with %s is refused', async (_, addresses) => {
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

  test('a name is not resolved again after the check', async () => {
    const friendly = await open(jsonResponse('{}'))
    const other = await listenWith((socket) => socket.end(), '127.0.0.2')
    closing.push(other.close)
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' }, { resolve: () => Promise.resolve(answers.shift()!) })

    await fetch(`http://rebind.example:${friendly.port}/`, quick)

    expect(answers).toEqual([['127.0.0.2']])
    expect([friendly.connections(), other.connections()]).toEqual([1, 0])
  })

  test('a request that is redirected to another server fails, and the redirect is not followed', async () => {
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
    ...['169.254.169.254', '[fe80::1]', '[ff02::1]', '224.0.0.1', '0.0.0.0', '[::]', '255.255.255.255'],
    ...['168.63.129.16', '100.100.100.200', '192.0.0.192', '[fd00:ec2::254]', '[fd20:ce::254]'],
    ...['[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]'],
  ])('a request to %s is refused even if private targets are allowed', async (host) => {
    const fetch = safeFetch({ ALLOW_PRIVATE_TARGETS: '1' })

    expect(await reasonOf(fetch(`http://${host}:8080/`, { timeoutMs: 200 }))).toBe('refused')
  })

  test.each(['10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', 'fd00::1', '127.0.0.1', '::1', '::ffff:10.0.0.1'])(
    'the address %s is allowed only with private targets',
    (address) => {
      expect(isAllowedAddress(address, readConfig({ ALLOW_PRIVATE_TARGETS: '1' }))).toBe(true)
      expect(isAllowedAddress(address, readConfig({}))).toBe(false)
    },
  )

  test.each(['93.184.215.14', '2606:2800:21f:cb07::1', '::ffff:93.184.215.14'])(
    'the public address %s is allowed',
    (address) => {
      expect(isAllowedAddress(address, readConfig({}))).toBe(true)
    },
  )
})
