/** The units that wait for a commit: one lane for each account, so that a busy account does not starve the others. */
import type { Row } from '@libsql/client'
import { GridError } from '../../errors.ts'
import { FairQueue } from '../../lib/limits/fair-queue.ts'
import type { Statement } from '../sql.ts'

/** Rows of each statement of a unit, in order, with the column names of the database. */
export type UnitRows = Row[][]

/** An atomic list of statements, and who waits for it. */
export interface Unit {
  statements: Statement[]
  since: number
  resolve(rows: UnitRows): void
  reject(error: unknown): void
  isDeferred?: true
}

/** A group takes no more units once it has this many units or about this many rows. */
const maxUnits = 128
const maxRows = 2_000
/** Maximum rows of an account in a group with units of others, which wait until all is on disk. */
const maxRowsBesideOthers = 500
/** Maximum number and age of waiting units. Beyond that the newest unit of the account with most units is refused. */
const maxWaiting = 1_000
const maxWaitMs = 2_000

/** Units of all lanes. A unit that finds no room, or waits too long, is rejected with `unavailable`. */
export class Lanes {
  readonly #waiting = new FairQueue<Unit>()

  get size(): number {
    return this.#waiting.size
  }

  /** Let a unit wait in the lane of its account; the lane of global writes has the empty name. */
  add(lane: string, unit: Unit): void {
    if (this.size >= maxWaiting && !this.#makeRoom(lane)) return unit.reject(overloaded())
    this.#waiting.add(lane, unit)
  }

  /** Refuse the newest unit of the account with most of them, unless `lane` has as many. Returns whether there is room. */
  #makeRoom(lane: string): boolean {
    const longest = this.#waiting.longest()!
    // Otherwise two accounts would go on refusing each other's units.
    if (this.#waiting.count(longest) <= this.#waiting.count(lane) + 1) return false
    this.#waiting.removeNewest(longest)!.reject(overloaded())
    return true
  }

  /** Refuse units that have waited too long. */
  refuseOverdue(now: number): void {
    for (const unit of this.#waiting.removeOldest(({ since }) => since < now - maxWaitMs)) unit.reject(overloaded())
  }

  /** The next group: one unit of each lane after the other, until the group is full or no lane may have more in it. */
  take(): Unit[] {
    const group: Unit[] = []
    let rows = 0
    const maxRowsOfLane = this.#waiting.keys > 1 ? maxRowsBesideOthers : maxRows
    const rowsOf = new Map<string, number>()
    /** Lanes that have used their rows of this group. In the next group they come last. */
    const full = new Map<string, Unit[]>()
    while (group.length < maxUnits && rows < maxRows) {
      const [lane, unit] = this.#waiting.next() ?? []
      if (lane === undefined || unit === undefined) break
      group.push(unit)
      const rowsOfUnit = unit.statements.reduce((sum, statement) => sum + (statement.rows ?? 1), 0)
      rows += rowsOfUnit
      const rowsOfLane = (rowsOf.get(lane) ?? 0) + rowsOfUnit
      rowsOf.set(lane, rowsOfLane)
      if (rowsOfLane >= maxRowsOfLane) full.set(lane, this.#waiting.removeAll(lane))
    }
    for (const [lane, units] of full) this.#waiting.add(lane, ...units)
    return group
  }
}

function overloaded(): GridError {
  return new GridError('unavailable', 'The grid is busy. Repeat the call in a moment.', {
    retryAfterSeconds: 1,
    notExecuted: true,
  })
}
