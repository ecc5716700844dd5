import { expect, test } from 'vitest'
import type { Caller } from '../../../src/lib/http/caller.ts'
import { SharedBudget } from '../../../src/lib/limits/shared-budget.ts'

const account = (name: string): Caller => ({ name, groups: [] })
const stranger = (name: string, ...groups: string[]): Caller => ({ name, groups: ['strangers', ...groups] })

/** Takes ones until it is refused, and returns how many. */
function takeAll(budget: SharedBudget, caller: Caller): number {
  for (let n = 0;; n++) if (!budget.take(caller, 1)) return n
}

test.each([
  ['an account', account('a'), 125],
  ['an IPv4 address', stranger('192.0.2.1'), 111],
  ['an IPv6 /64', stranger('2001:db8:1:1::/64', '2001:db8:1::/48'), 100],
])('alone, %s holds about an eighth', (_, caller, most) => {
  const budget = new SharedBudget(1_000, 7)

  expect([takeAll(budget, caller), budget.take(caller, 1)]).toEqual([most, false])
})

test('however many take at the same time, the next caller has some, and strangers leave a half', () => {
  const budget = new SharedBudget(100_000, 7)
  const strangers = Array.from({ length: 200 }, (_, n) => stranger(`192.0.2.${n}`))
  for (let n = 0; n < 1_000; n++) for (const caller of strangers) budget.take(caller, 1)
  expect(budget.held).toBeLessThanOrEqual(50_000)
  expect(takeAll(budget, stranger('192.0.3.1'))).toBeGreaterThan(100)
  expect(takeAll(budget, account('calm'))).toBeGreaterThan(5_000)
  const accounts = Array.from({ length: 100 }, (_, n) => account(`busy ${n}`))
  for (let n = 0; n < 1_000; n++) for (const caller of accounts) budget.take(caller, 1)

  expect(takeAll(budget, account('other'))).toBeGreaterThan(100)
})

test('one /48 holds at most a third, however many of its networks take part', () => {
  const budget = new SharedBudget(9_000, 1)
  for (let n = 0; n < 500; n++) takeAll(budget, stranger(`2001:db8:1:${n}::/64`, '2001:db8:1::/48'))

  expect(budget.held).toBeLessThanOrEqual(3_000)
  expect(budget.held).toBeGreaterThan(2_900)
})

test('what is released can be taken again', () => {
  const budget = new SharedBudget(1_000, 1)
  const caller = stranger('192.0.2.1')
  const taken = takeAll(budget, caller)
  budget.release(caller, taken)

  expect([budget.held, takeAll(budget, caller)]).toEqual([0, taken])
})
