/** The list of deliberate faults does not rot. They are tried by `npm run mutants`. */
import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faults } from '../../scripts/mutants/faults.ts'
import { occurrences } from '../../scripts/mutants/tree.ts'

test.each(faults.map((fault) => [fault.file, fault.text.trim(), fault] as const))(
  '%s has once: %s',
  (_, __, { file, text, replacement, killer }) => {
    expect(occurrences(readFileSync(file, 'utf8'), text)).toBe(1)
    expect(replacement).not.toBe(text)
    expect(existsSync(killer)).toBe(true)
  },
)

test('there are at least 100, and none twice', () => {
  expect(faults.length).toBeGreaterThanOrEqual(100)
  expect(new Set(faults.map(({ file, text, replacement }) => `${file} ${text} ${replacement}`)).size).toBe(
    faults.length,
  )
})
