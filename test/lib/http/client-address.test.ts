/** The client addresses to which rate limits apply (docs/security.md, "Requests"). */
import { expect, test } from 'vitest'
import { CallerHints, clientAddress } from '../../../src/lib/http/client-address.ts'

const proxies = ['10.0.0.0/8', '192.0.2.1', '2001:db8:ffff::/48']

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', 'unknown'],
  ['socket', 'unknown'],
])('the socket address %j counts as the client %s', (socket, client) => {
  expect(clientAddress(socket, null, [])).toBe(client)
})

test('without trusted proxies, X-Forwarded-For is ignored', () => {
  for (const header of ['198.51.100.1', '127.0.0.1', '10.0.0.1, 198.51.100.1']) {
    expect(clientAddress('203.0.113.7', header, [])).toBe('203.0.113.7')
  }
})

test.each<[string | null, string]>([
  [null, '10.0.0.1'],
  ['', '10.0.0.1'],
  ['198.51.100.1', '198.51.100.1'],
  ['\t198.51.100.1', '198.51.100.1'],
  ['198.51.100.1,', '10.0.0.1'],
  ['198.51.100.1, 198.51.100.2', '198.51.100.2'],
  ['6.6.6.6, 198.51.100.1, 192.0.2.1, 10.9.9.9', '198.51.100.1'],
  ['198.51.100.1, unknown', '10.0.0.1'],
  ['198.51.100.1, garbage, 10.0.0.2', '10.0.0.2'],
  ['[2001:db8::1]:443', '10.0.0.1'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['198.51.100.1, 2001:db8:ffff::9', '198.51.100.1'],
  ['::ffff:198.51.100.1', '198.51.100.1'],
  ['6.6.6.6, ::ffff:10.0.0.7', '6.6.6.6'],
  ['for=198.51.100.1', '10.0.0.1'],
  ['0x7f.1', '10.0.0.1'],
  ['198.51.100.256', '10.0.0.1'],
  ['198.51.100.1/32', '10.0.0.1'],
  ['198.51.100.1\0', '10.0.0.1'],
  [`${'1.1.1.1, '.repeat(1_000)}198.51.100.1`, '198.51.100.1'],
])('behind a trusted proxy, X-Forwarded-For %j means the client %s', (header, client) => {
  expect(clientAddress('10.0.0.1', header, proxies)).toBe(client)
})

test('a proxy is trusted by its IPv4 or IPv4-mapped address, and no other proxy is trusted', () => {
  expect(clientAddress('::ffff:10.0.0.1', '198.51.100.1', proxies)).toBe('198.51.100.1')
  expect(clientAddress('192.0.2.1', '198.51.100.1', proxies)).toBe('198.51.100.1')
  expect(clientAddress('192.0.2.2', '198.51.100.1', proxies)).toBe('192.0.2.2')
  expect(clientAddress('11.0.0.1', '198.51.100.1', proxies)).toBe('11.0.0.1')
  expect(clientAddress('10.0.0.1', '198.51.100.1', ['::ffff:10.0.0.1'])).toBe('198.51.100.1')
})

/** Returns the caller of a request with these headers. */
function callerOf(hints: CallerHints, headers: Record<string, string> = {}, remoteAddress = '203.0.113.7') {
  return hints.callerOf({ header: (name) => headers[name] ?? null, remoteAddress })
}
const nameOf = (hints: CallerHints, authorization?: string) =>
  callerOf(hints, authorization === undefined ? {} : { authorization })

test('a request with a known key counts for the account last seen with the key, and any other request for its client address', () => {
  const hints = new CallerHints({ trustedProxies: [] })
  hints.learn('Bearer one', 'account')

  expect(nameOf(hints, 'Bearer one')).toBe('account')
  expect(nameOf(hints, 'Bearer two')).toBe('203.0.113.7')
  expect(nameOf(hints)).toBe('203.0.113.7')
  hints.learn('Bearer one', 'other')
  expect(nameOf(hints, 'Bearer one')).toBe('other')
})

test.each(['bearer one', 'BEARER one', 'Bearer     one'])('"%s" counts as the same key as "Bearer one"', (spelling) => {
  const hints = new CallerHints({ trustedProxies: [] })
  hints.learn('Bearer one', 'account')
  expect(nameOf(hints, spelling)).toBe('account')
  hints.forget(spelling)

  expect(nameOf(hints, 'Bearer one')).toBe('203.0.113.7')
})

test('the caller of a request through a trusted proxy is the address that the proxy names', () => {
  const hints = new CallerHints({ trustedProxies: ['203.0.113.7'] })

  expect(callerOf(hints, { 'x-forwarded-for': '198.51.100.4' })).toBe('198.51.100.4')
})
