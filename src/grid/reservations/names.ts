/** The names of reservations. See docs/protocol/reservations.md, "Names". */
import { invalidInput } from '../../errors.ts'
import { maxNameLength, normaliseName } from '../../lib/name-patterns.ts'

export const maxNames = 20

/** The given names, each once, in the form in which they are compared. Fails with `invalid_input`. */
export function checkNames(names: readonly string[], max = maxNames): string[] {
  if (names.length > max) throw invalidInput(`Give at most ${max} names.`, 'names')
  return [...new Set(names.map(checkName))]
}

function checkName(given: string, n: number): string {
  const name = normaliseName(given)
  if (name !== undefined) return name
  throw invalidInput(
    `names.${n} must be a path, pattern or ticket of 1 to ${maxNameLength} printable characters, without "..".`,
    'names',
  )
}
