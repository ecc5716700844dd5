/** The names of reservations, and the spaces that they are in. See docs/protocol/reservations.md, "Names". */
import { invalidInput } from '../../errors.ts'
import { maxNameLength, normaliseName } from '../../lib/name-patterns.ts'
import { plainName } from '../../lib/names.ts'

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

/**
 * A space as it is compared: the address of a git remote becomes its host and path, so that `git@host:a/b.git` and
 * `https://host/a/b` are one space.
 */
export function normaliseSpace(given = ''): string {
  const text = plainName(given, maxNameLength).replace(/^[\w.-]+@([\w.-]+):(?!\/)/, 'ssh://$1/')
  const [, host, path] = /^\w+:\/\/(?:[^/@]*@)?([^/:]+)(?::\d+)?\/(.*)$/.exec(text) ?? []
  if (host === undefined) return text
  return `${host.toLowerCase()}/${path.replace(/(\.git)?\/*$/, '')}`
}
