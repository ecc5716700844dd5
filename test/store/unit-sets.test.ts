/** In which order the statements of a group run, so that the same statements of several units are beside each other. */
import { expect, test } from 'vitest'
import { inSets } from '../../src/store/unit-sets.ts'

/** `a1` is the statement `a` about the subject `1`; `a` has no subject. */
function unit(...names: string[]) {
  return names.map(([sql, subject]) => ({ sql, subject, args: [] }))
}

function ordered(...units: string[][]): string {
  const { statements, placesOf } = inSets(units.map((names) => unit(...names)))
  // Each unit finds its own statements in their order.
  expect(placesOf.map((places) => places.map((place) => nameOf(statements[place])))).toEqual(units)
  return statements.map(nameOf).join(' ')
}

function nameOf({ sql, subject = '' }: { sql: string; subject?: string }): string {
  return sql + subject
}

test.each([
  ['units of the same statements are together', [['a1', 'b1'], ['a2', 'b2'], ['a3', 'b3']], 'a1 a2 a3 b1 b2 b3'],
  ['others between them too', [['a1', 'b1'], ['c1', 'd1'], ['a2', 'b2'], ['c2', 'd2']], 'a1 a2 b1 b2 c1 c2 d1 d2'],
  ['units about the same subject follow each other', [['a1', 'b1'], ['a1', 'b1'], ['a2', 'b2']], 'a1 b1 a1 a2 b1 b2'],
  ['a unit without a subject keeps its place', [['a1'], ['a', 'b'], ['a2'], ['a3']], 'a1 a b a2 a3'],
  ['also if only one of its statements has none', [['a1', 'b1'], ['a2', 'b'], ['a3', 'b3']], 'a1 b1 a2 b a3 b3'],
  // Sends with and without a key: they are stored in the order of their calls.
  ['so do units that begin alike', [['a1', 'b1'], ['a2', 'c2', 'b2'], ['a3', 'b3']], 'a1 b1 a2 c2 b2 a3 b3'],
  ['an empty unit has no statements', [['a1'], [], ['a2']], 'a1 a2'],
])('%s', (_, units, order) => {
  expect(ordered(...units)).toBe(order)
})
