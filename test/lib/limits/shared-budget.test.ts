import { expect, test } from 'vitest'
import { SharedBudget } from '../../../src/lib/limits/shared-budget.ts'

test('each caller can take a third of the budget that others leave, and taking 0 changes nothing', () => {
  const budget = new SharedBudget(64, 3)
  expect([budget.take('a', 16), budget.take('a', 1), budget.take('b', 13), budget.take('b', 12)]).toEqual([
    true,
    false,
    false,
    true,
  ])
  for (let n = 0; n < 2; n++) expect(budget.take('c', 0)).toBe(true)
  for (let n = 0; n < 2; n++) budget.release('c', 0)
  expect([budget.take('c', 10), budget.take('c', 9), budget.held]).toEqual([false, true, 37])
})
