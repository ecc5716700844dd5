/** Which caller sent a request. See docs/security.md, "Scheduling of requests". */
import { expect, test } from 'vitest'
import { CallerHints } from '../../../src/lib/http/client-address.ts'

/** The caller of a request with these headers. */
function callerOf(hints: CallerHints, headers: Record<string, string> = {}, remoteAddress = '203.0.113.7') {
  return hints.callerOf({ header: (name) => headers[name] ?? null, remoteAddress })
}
const nameOf = (hints: CallerHints, authorization?: string) =>
  callerOf(hints, authorization === undefined ? {} : { authorization })

test('a key that was used is its account, also after it moved; any other request is its client address', () => {
  const hints = new CallerHints({ trustedProxies: [] })
  hints.learn('Bearer one', 'account')

  expect(nameOf(hints, 'Bearer one')).toBe('account')
  expect(nameOf(hints, 'Bearer two')).toBe('203.0.113.7')
  expect(nameOf(hints)).toBe('203.0.113.7')
  hints.learn('Bearer one', 'other')
  expect(nameOf(hints, 'Bearer one')).toBe('other')
})

test.each(['bearer one', 'BEARER one', 'Bearer     one'])('"%s" is the same key as "Bearer one"', (spelling) => {
  const hints = new CallerHints({ trustedProxies: [] })
  hints.learn('Bearer one', 'account')
  expect(nameOf(hints, spelling)).toBe('account')
  hints.forget(spelling)

  expect(nameOf(hints, 'Bearer one')).toBe('203.0.113.7')
})

test('a key that was refused no longer stands for its account', () => {
  const hints = new CallerHints({ trustedProxies: [] })
  hints.learn('Bearer one', 'account')
  hints.forget('Bearer one')

  expect(nameOf(hints, 'Bearer one')).toBe('203.0.113.7')
})

test('behind a trusted proxy the address is the one that it names', () => {
  const hints = new CallerHints({ trustedProxies: ['203.0.113.7'] })

  expect(callerOf(hints, { 'x-forwarded-for': '198.51.100.4' })).toBe('198.51.100.4')
})
