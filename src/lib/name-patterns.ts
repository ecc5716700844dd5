/**
 * Names with wildcards, for example paths. `*` matches any characters within a segment, `?` a single character, and a
 * segment `**` any number of segments, including none. See docs/protocol/reservations.md, "Names".
 */
import { isPlainName, plainName } from './names.ts'
import { hasAtMost } from './text.ts'

export const maxNameLength = 200

/**
 * Normalises a name for comparison: `/` separates segments, and there are no `./`, doubled slashes, or slashes at
 * either end. Case is preserved. Undefined if the result is empty or has more than 200 characters, a segment `..`,
 * controls or invisible characters.
 */
export function normaliseName(given: string): string | undefined {
  const segments = given.trim().replaceAll('\\', '/').split('/').filter((segment) => segment !== '' && segment !== '.')
  const name = segments.map((segment) => segment.replace(/^\*{3,}$/, '**')).join('/')
  const isGood = name !== '' && hasAtMost(name, maxNameLength) && isPlainName(name) && !segments.includes('..')
  return isGood ? name : undefined
}

/**
 * Normalises a space for comparison. A git remote's URL becomes its host and path, without user and password, so that
 * `git@host:a/b.git` and `https://host/a/b` are the same space.
 */
export function normaliseSpace(given = ''): string {
  const text = plainName(given, maxNameLength).replace(/^[^/@\s]+@([\w.-]+):\/*/, 'ssh://$1/')
  const [, host, path] = /^[\w+.-]+:\/\/(?:[^/]*@)?([^/:]+)(?::\d+)?\/+(.*)$/.exec(text) ?? []
  if (host === undefined) return text
  return `${host.toLowerCase()}/${path.replace(/\/*$/, '').replace(/\.git$/, '')}`
}

/** Whether a name can match both patterns. Takes at most time proportional to the product of their lengths. */
export function overlaps(one: string, other: string): boolean {
  return one === other || sequencesMeet(one.split('/'), other.split('/'), '**', segmentsMeet)
}

function segmentsMeet(one: string, other: string): boolean {
  return one === other || sequencesMeet([...one], [...other], '*', charactersMeet)
}

function charactersMeet(one: string, other: string): boolean {
  return one === other || one === '?' || other === '?'
}

type Meet = (one: string, other: string) => boolean

/** Whether some sequence matches both patterns. In a pattern, `any` matches any number of elements. */
function sequencesMeet(one: readonly string[], other: readonly string[], any: string, meet: Meet): boolean {
  if (!one.includes(any)) return other.includes(any) ? isFound(other, one, any, meet) : areAlike(one, other, meet)
  if (!other.includes(any)) return isFound(one, other, any, meet)
  // If both contain `any`, compare only the ends. An `any` of the other pattern matches all elements between the first
  // and the last `any` of this one.
  const start = Math.min(one.indexOf(any), other.indexOf(any))
  const end = Math.min(one.length - one.lastIndexOf(any), other.length - other.lastIndexOf(any)) - 1
  return areAlike(one.slice(0, start), other.slice(0, start), meet) &&
    areAlike(one.slice(one.length - end), other.slice(other.length - end), meet)
}

function areAlike(one: readonly string[], other: readonly string[], meet: Meet): boolean {
  return one.length === other.length && one.every((element, n) => meet(element, other[n]))
}

/** Whether a pattern with `any` matches a pattern without `any`. Each piece is matched as early as possible. */
function isFound(pattern: readonly string[], sequence: readonly string[], any: string, meet: Meet): boolean {
  const first = pattern.indexOf(any)
  const last = pattern.length - 1 - pattern.lastIndexOf(any)
  const [from, to] = [first, sequence.length - last]
  if (from > to) return false
  if (!areAlike(pattern.slice(0, first), sequence.slice(0, from), meet)) return false
  if (!areAlike(pattern.slice(pattern.length - last), sequence.slice(to), meet)) return false
  let at = from
  let piece: string[] = []
  for (const element of pattern.slice(first, pattern.length - last)) {
    if (element !== any) {
      piece.push(element)
      continue
    }
    while (!piece.every((wanted, n) => at + n < to && meet(wanted, sequence[at + n]))) {
      if (++at + piece.length > to) return false
    }
    at += piece.length
    piece = []
  }
  return true
}
