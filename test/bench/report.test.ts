import { expect, test } from 'vitest'
import { median, percentile, ratioToFloor } from '../../scripts/bench/numbers.ts'
import { readOptions } from '../../scripts/bench/options.ts'
import { cellsOf, createReport } from '../../scripts/bench/report.ts'

const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)

test.each([
  ['the median of one value', [7], 0.5, 7],
  ['the median of two values, the lower', [9, 7], 0.5, 7],
  ['the median of three values', [9, 7, 8], 0.5, 8],
  ['the 99th of a hundred values', hundred, 0.99, 99],
  ['the largest', hundred, 1, 100],
  ['the smallest', hundred, 0, 1],
  ['ten after two, by size and not by text', [10, 2], 1, 10],
  ['of no values', [], 0.5, NaN],
])('percentile: %s', (_, values, share, expected) => {
  expect(percentile(values, share)).toBe(expected)
})

test('the median does not reorder the values', () => {
  const values = [3, 1, 2]

  expect(median(values)).toBe(2)
  expect(values).toEqual([3, 1, 2])
})

test.each([
  ['half the requests per second', { perSecond: 500, p50Ms: 2 }, 0.5],
  ['only a time, three times as long', { p50Ms: 3 }, 1 / 3],
  ['neither', {}, undefined],
])('the ratio to the floor with %s', (_, pace, expected) => {
  expect(ratioToFloor(pace, { perSecond: 1_000, p50Ms: 1 })).toBe(expected)
})

const line = {
  name: 'send',
  clients: 32,
  perSecond: 2_345.6,
  p50Ms: 1.234,
  p99Ms: 123.4,
  cpuUs: 250.4,
  cpuRatio: 3.21,
  ratio: 0.2345,
  cpu: { server: 0.9, caller: 0.5, others: 0.014 },
}

test('the cells of a line are rounded', () => {
  expect(cellsOf(line)).toEqual([
    'send',
    '32',
    '2,346',
    '1.23',
    '123',
    '0.23',
    '250',
    '3.2',
    '50 %',
    '1 %',
    'server busy',
  ])
})

test('cells without a value are empty', () => {
  expect(cellsOf({ name: 'start', clients: 1, p50Ms: 600, cpuUs: NaN, remark: '99 MiB' })).toEqual(
    ['start', '1', '', '600', '', '', '', '', '', '', '99 MiB'],
  )
})

test('all rows of a Markdown table have the same number of cells', () => {
  const printed: string[] = []
  const table = createReport('markdown', (text) => printed.push(...text.split('\n'))).table('Node')
  table.line(line)
  table.text('Redis is not installed')

  const rows = printed.filter((text) => text.startsWith('|'))
  expect(rows).toHaveLength(4)
  expect(new Set(rows.map((row) => row.split('|').length)).size).toBe(1)
})

test.each([
  [['--scenario', 'sending'], '"sending" is not one of requests, waking'],
  [['--runtime', 'python'], '"python" is not one of node, deno, bun'],
  [['--clients', '1,257'], '--clients takes numbers from 1 to 256'],
  [['--clients', '1.5'], '--clients takes numbers from 1 to 256'],
  [['--seconds', '0'], '--seconds takes numbers from 0.01'],
  [['--agents', '9'], '--agents takes numbers from 10'],
])('the command line %j is refused: %s', (args, message) => {
  expect(() => readOptions(args, ['requests', 'waking'], ['requests'])).toThrow(message)
})

test('the default scenarios run unless others are chosen', () => {
  const chosen = (...args: string[]) => readOptions(args, ['requests', 'waking', 'size'], ['requests']).scenarios

  expect(chosen()).toEqual(['requests'])
  expect(chosen('--scenario', 'all')).toEqual(['requests', 'waking', 'size'])
  expect(chosen('--scenario', 'size,waking')).toEqual(['size', 'waking'])
})
