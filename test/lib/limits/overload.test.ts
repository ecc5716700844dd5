/** The conditions under which a process counts as overloaded (docs/security.md, "Overload"). */
import { expect, test } from 'vitest'
import { Overload } from '../../../src/lib/limits/overload.ts'
import { createLog } from '../../../src/log.ts'

/** Returns whether the process is overloaded after samples with these delays. */
function after(overload: Overload, delays: number[]): boolean {
  for (const delay of delays) {
    overload.report(1)
    overload.report(delay)
    overload.sample()
  }
  return overload.isOverloaded
}

test('overload begins after a second above the limit and ends after a second below half of it', () => {
  const lines: string[] = []
  const overload = new Overload(createLog('info', (line) => lines.push(line)), 1_000)

  expect(after(overload, [1_001, 1_001, 1_001])).toBe(false)
  expect(after(overload, [1_001])).toBe(true)
  expect(() => overload.check()).toThrow('The grid is overloaded. Repeat the call in 2 seconds.')
  expect(after(overload, [900, 900, 900, 900, 499, 499, 499])).toBe(true)
  expect(after(overload, [600, 499, 499, 499])).toBe(true)
  expect(after(overload, [499])).toBe(false)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'warn', message: 'The grid is overloaded; requests are refused', delayMs: 1_001 },
    { level: 'info', message: 'The grid is no longer overloaded', refused: 1 },
  ])
})

test('without overload, only a request that waited too long is refused', () => {
  const overload = new Overload(createLog('info', () => {}), 1_000)

  expect(() => overload.check(1_001)).toThrow('Too many of your calls are waiting. Repeat the call in 2 seconds.')
  overload.check(1_000)
})
