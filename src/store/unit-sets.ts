/**
 * The order in which a group of units runs on a remote database: the first statement of several units, then the second,
 * and so on, so that the client can run each as a set. See docs/delivery.md, "Remote database".
 */
import type { Statement } from './driver/binding.ts'
import type { GroupOrder } from './queue.ts'

interface UnitSet {
  /** The places of the units in the group. */
  units: number[]
  subjects: Set<string>
}

/**
 * Units of the same statements about different subjects together, at the place of the first of them. Units without a
 * subject keep their place before and after all others, and so do units that begin with the same statement.
 */
export function inSets(units: readonly Statement[][]): GroupOrder {
  const sets: UnitSet[] = []
  /** The last set that begins with a statement, since the last unit without a subject. */
  const open = new Map<string, UnitSet>()
  for (const [n, statements] of units.entries()) {
    if (statements.length === 0 || statements.some(({ subject }) => subject === undefined)) {
      sets.push({ units: [n], subjects: new Set() })
      open.clear()
      continue
    }
    const [{ sql, subject }] = statements
    const set = open.get(sql)
    if (set && !set.subjects.has(subject!) && haveSameTexts(statements, units[set.units[0]])) {
      set.units.push(n)
      set.subjects.add(subject!)
    } else {
      const opened = { units: [n], subjects: new Set([subject!]) }
      sets.push(opened)
      open.set(sql, opened)
    }
  }

  const order: GroupOrder = { statements: [], placesOf: units.map(() => []) }
  for (const set of sets) {
    for (const i of units[set.units[0]].keys()) {
      for (const n of set.units) {
        order.placesOf[n].push(order.statements.length)
        order.statements.push(units[n][i])
      }
    }
  }
  return order
}

function haveSameTexts(one: readonly Statement[], other: readonly Statement[]): boolean {
  return one.length === other.length && one.every(({ sql }, i) => sql === other[i].sql)
}
