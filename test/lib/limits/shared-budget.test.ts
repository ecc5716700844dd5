import { expect, test } from 'vitest'
import { SharedBudget } from '../../../src/lib/limits/shared-budget.ts'

/** Takes ones until it is refused, and returns how many. */
function takeAll(budget: SharedBudget, caller: string): number {
  for (let n = 0;; n++) if (!budget.take(caller, 1)) return n
}

test('alone, a caller holds an eighth', () => {
  const budget = new SharedBudget(1_000, 7)

  expect([takeAll(budget, 'a'), budget.take('a', 1)]).toEqual([125, false])
})

test('however many take at the same time, the next caller has some', () => {
  const budget = new SharedBudget(100_000, 7)
  const callers = Array.from({ length: 200 }, (_, n) => `busy ${n}`)
  for (let n = 0; n < 1_000; n++) for (const caller of callers) budget.take(caller, 1)

  expect(takeAll(budget, 'other')).toBeGreaterThan(100)
})

test('what is released can be taken again', () => {
  const budget = new SharedBudget(1_000, 1)
  const taken = takeAll(budget, 'a')
  budget.release('a', taken)

  expect([budget.held, takeAll(budget, 'a')]).toEqual([0, taken])
})
