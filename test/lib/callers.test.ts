/** Whose turn a request takes. See docs/security.md, "Taking turns". */
import { expect, test } from 'vitest'
import { Callers } from '../../src/lib/callers.ts'

/** The caller of a request from 203.0.113.7 with these headers. */
function callerOf(callers: Callers, headers: Record<string, string> = {}): string {
  return callers.callerOf((name) => headers[name] ?? null, { remoteAddress: '203.0.113.7' })
}

test('a key that was used is its account, also after it moved; any other request is its client address', () => {
  const callers = new Callers({ trustedProxies: [] })
  callers.learn('Bearer one', 'account')

  expect(callerOf(callers, { authorization: 'Bearer one' })).toBe('account')
  expect(callerOf(callers, { authorization: 'Bearer two' })).toBe('203.0.113.7')
  expect(callerOf(callers)).toBe('203.0.113.7')
  callers.learn('Bearer one', 'other')
  expect(callerOf(callers, { authorization: 'Bearer one' })).toBe('other')
})

test('a key that was refused takes no turns of its account', () => {
  const callers = new Callers({ trustedProxies: [] })
  callers.learn('Bearer one', 'account')
  callers.forget('Bearer one')

  expect(callerOf(callers, { authorization: 'Bearer one' })).toBe('203.0.113.7')
})

test('behind a trusted proxy the address is the one that it names', () => {
  const callers = new Callers({ trustedProxies: ['203.0.113.7'] })

  expect(callerOf(callers, { 'x-forwarded-for': '198.51.100.4' })).toBe('198.51.100.4')
})

test('20,000 keys are known, and those in use longer', () => {
  const callers = new Callers({ trustedProxies: [] })
  for (let n = 0; n <= 60_000; n++) {
    callers.learn(`Bearer ${n}`, 'account')
    callers.learn('Bearer busy', 'account')
  }
  const known = (key: string) => callerOf(callers, { authorization: `Bearer ${key}` }) === 'account'

  expect([known('busy'), known('45000'), known('1')]).toEqual([true, true, false])
})
