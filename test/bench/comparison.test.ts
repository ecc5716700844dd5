import { expect, test } from 'vitest'
import { comparisonOf, type Rates } from '../../scripts/bench/comparison.ts'

/** With the rates of three slices at one client, and at 32. */
function subject(name: string, one: number[], many: number[], label = name): Rates[number] {
  return { name, label, perSecond: new Map([[1, one], [32, many]]) }
}

const grid = subject('the grid', [100, 200, 300], [1_000, 3_000, 2_000])

test('a row has the medians of a broker, how the grid compares with it, and whether the aim is met', () => {
  const slow = subject('Slow', [50, 100, 150], [2_000, 2_000, 2_000], 'Slow, not fsynced')

  const { headings, rows, remark } = comparisonOf([grid, slow], [1, 32], [
    { broker: 'Slow', clients: 1, ratio: 1.5 },
    { broker: 'Slow', clients: 32, ratio: 1.5 },
  ])

  expect(headings).toEqual(['pairs per second', '1 client', '32 clients'])
  expect(rows).toEqual([
    ['the grid', '200', '2,000'],
    ['Slow, not fsynced', '100 (grid x 2.00, aim 1.5: met)', '2,000 (grid x 1.00, aim 1.5: missed)'],
  ])
  expect(remark).toBe('Aims met: 1 of 2.')
})

test('a ratio compares the slices of the same round, and is their median', () => {
  // The machine was three times as fast in the second round, and busy with something else in one slice of the third.
  const other = subject('Other', [200, 400, 100], [1_000, 1_000, 1_000])

  expect(comparisonOf([grid, other], [1], []).rows[1]).toEqual(['Other', '200 (grid x 0.50)'])
})

test('aims for what was not measured do not count as missed', () => {
  const other = subject('Other', [100, 100, 100], [1_000, 1_000, 1_000])

  const { remark } = comparisonOf([grid, other], [1], [
    { broker: 'Other', clients: 1, ratio: 1 },
    { broker: 'Other', clients: 32, ratio: 1 },
    { broker: 'Absent', clients: 1, ratio: 1 },
  ])

  expect(remark).toBe('Aims met: 1 of 1; 2 were not measured.')
})
