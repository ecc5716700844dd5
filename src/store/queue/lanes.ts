/** The units that wait for a commit, in one lane per account, so that a busy account does not starve the others. */
import type { Row } from '@libsql/client'
import { GridError } from '../../errors.ts'
import { FairQueue } from '../../lib/limits/fair-queue.ts'
import type { Statement } from '../sql.ts'

/** The rows that each statement of a unit returned, in order, with the database's column names. */
export type UnitRows = Row[][]

/** An atomic list of statements, with the caller that waits for it. */
export interface Unit {
  statements: Statement[]
  since: number
  resolve(rows: UnitRows): void
  reject(error: unknown): void
  isDeferred?: true
}

/** A group is full at this many units or about this many rows. */
const maxUnits = 128
const maxRows = 2_000
/** Maximum rows per account in a group that other accounts share, because they wait for the whole group. */
const maxRowsBesideOthers = 500
/** Maximum number and age of waiting units. Above the number, the account with the most units loses its newest one. */
const maxWaiting = 1_000
const maxWaitMs = 2_000

/** The units of all lanes. A unit is rejected with `unavailable` if the queue is full or it waits too long. */
export class Lanes {
  readonly #waiting = new FairQueue<Unit>()

  get size(): number {
    return this.#waiting.size
  }

  /** Adds a unit to its account's lane. The lane for global writes has the empty name. */
  add(lane: string, unit: Unit): void {
    if (this.size >= maxWaiting && !this.#makeRoom(lane)) return unit.reject(overloaded())
    this.#waiting.add(lane, unit)
  }

  /** Refuses the newest unit of the largest lane, unless `lane` would have as many units. Returns whether it did. */
  #makeRoom(lane: string): boolean {
    const longest = this.#waiting.longest()!
    // Otherwise, two accounts would alternately refuse each other's units.
    if (this.#waiting.count(longest) <= this.#waiting.count(lane) + 1) return false
    this.#waiting.removeNewest(longest)!.reject(overloaded())
    return true
  }

  /** Refuses units that have waited too long. */
  refuseOverdue(now: number): void {
    for (const unit of this.#waiting.removeOldest(({ since }) => since < now - maxWaitMs)) unit.reject(overloaded())
  }

  /** Takes the next group: one unit per lane in turn, until the group is full or no lane may add more. */
  take(): Unit[] {
    const group: Unit[] = []
    let rows = 0
    const maxRowsOfLane = this.#waiting.keys > 1 ? maxRowsBesideOthers : maxRows
    const rowsOf = new Map<string, number>()
    /** Lanes that have used up their rows in this group. They come last in the next group. */
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
