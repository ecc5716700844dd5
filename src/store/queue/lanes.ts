/** The units that wait for a commit: one lane for each account, so that a busy account does not starve the others. */
import type { Row } from '@libsql/client'
import { GridError } from '../../errors.ts'
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
/** How many rows an account may have in a group in which others have units too: they wait until all is on disk. */
const maxRowsBesideOthers = 500
/** How many units may wait, and how long. Beyond that the newest of the account with most of them is refused. */
const maxWaiting = 1_000
const maxWaitMs = 2_000

/** Units of all lanes. A unit that finds no room, or waits too long, is rejected with `unavailable`. */
export class Lanes {
  readonly #lanes = new Map<string, Unit[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Let a unit wait in the lane of its account; the lane of global writes has the empty name. */
  add(lane: string, unit: Unit): void {
    if (this.#size >= maxWaiting && !this.#makeRoom(lane)) return unit.reject(overloaded())
    const waiting = this.#lanes.get(lane)
    if (waiting) waiting.push(unit)
    else this.#lanes.set(lane, [unit])
    this.#size++
  }

  /** Refuse the newest unit of the account with most of them, unless `lane` has as many. Returns whether there is room. */
  #makeRoom(lane: string): boolean {
    const own = this.#lanes.get(lane)?.length ?? 0
    let longest: Unit[] = []
    for (const units of this.#lanes.values()) if (units.length > longest.length) longest = units
    // Otherwise two accounts would go on refusing each other's units.
    if (longest.length <= own + 1) return false
    this.#size--
    longest.pop()!.reject(overloaded())
    return true
  }

  /** Refuse units that have waited too long. Each lane is in order of arrival. */
  refuseOverdue(now: number): void {
    const since = now - maxWaitMs
    for (const [lane, units] of this.#lanes) {
      while (units.length > 0 && units[0].since < since) {
        this.#size--
        units.shift()!.reject(overloaded())
      }
      if (units.length === 0) this.#lanes.delete(lane)
    }
  }

  /** The next group: one unit of each lane after the other, until the group is full or no lane may have more in it. */
  take(): Unit[] {
    const group: Unit[] = []
    let rows = 0
    const maxRowsOfLane = this.#lanes.size > 1 ? maxRowsBesideOthers : maxRows
    const rowsOf = new Map<string, number>()
    /** Lanes that have all their rows in this group. The next group begins behind the others with them. */
    const full = new Map<string, Unit[]>()
    for (const [lane, units] of this.#lanes) {
      const unit = units.shift()!
      group.push(unit)
      this.#size--
      const rowsOfUnit = unit.statements.reduce((sum, statement) => sum + (statement.rows ?? 1), 0)
      rows += rowsOfUnit
      const rowsOfLane = (rowsOf.get(lane) ?? 0) + rowsOfUnit
      rowsOf.set(lane, rowsOfLane)
      // Moves the lane behind all others, for this loop and for the next group.
      this.#lanes.delete(lane)
      if (units.length > 0) (rowsOfLane < maxRowsOfLane ? this.#lanes : full).set(lane, units)
      if (group.length >= maxUnits || rows >= maxRows) break
    }
    for (const [lane, units] of full) this.#lanes.set(lane, units)
    return group
  }
}

function overloaded(): GridError {
  return new GridError('unavailable', 'The grid is busy. Repeat the call in a moment.', {
    retryAfterSeconds: 1,
    notExecuted: true,
  })
}
