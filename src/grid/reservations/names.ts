/** Reservation names. See docs/protocol/reservations.md, "Names". */
import { setImmediate } from 'node:timers/promises'
import { invalidInput } from '../../errors.ts'
import { maxNameLength, normaliseName, overlaps } from '../../lib/name-patterns.ts'
import type { AccountStore } from '../../store/account.ts'

export const maxNames = 20
/** Work between two yields, in compared pairs of characters: a few milliseconds with the slowest patterns. */
const pieceOfWork = 1_000_000

/** Normalises and deduplicates the given names. Fails with `invalid_input`. */
export function checkNames(names: readonly string[], max = maxNames): string[] {
  if (names.length > max) throw invalidInput(`Give at most ${max} names.`, 'names')
  return [...new Set(names.map(checkName))]
}

/**
 * Returns the reservations that overlap one of the names. With malicious patterns this takes seconds, so it yields to
 * other calls, and only one long comparison runs at a time.
 */
export async function meeting<R extends { name: string }>(
  { waiting }: { waiting: Pick<AccountStore['waiting'], 'reservations'> },
  names: readonly string[],
  reservations: readonly R[],
): Promise<R[]> {
  const [length, lengthOfAll] = [names, reservations.map(({ name }) => name)].map((all) => all.join('').length)
  const compare = async () => {
    const met: R[] = []
    let work = 0
    for (const one of reservations) {
      if (names.some((name) => overlaps(name, one.name))) met.push(one)
      work += length * one.name.length
      if (work < pieceOfWork) continue
      work = 0
      await setImmediate()
    }
    return met
  }
  return length * lengthOfAll < pieceOfWork ? await compare() : await waiting.reservations.run('', compare)
}

function checkName(given: string, n: number): string {
  const name = normaliseName(given)
  if (name !== undefined) return name
  throw invalidInput(
    `names.${n} must be a path, pattern or ticket of 1 to ${maxNameLength} printable characters, without "..".`,
    'names',
  )
}
