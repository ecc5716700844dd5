/**
 * The write queue: everything that waits is committed as one group.
 *
 * A unit is a list of statements and is atomic. Units of one moment share one
 * `batch(…, 'write')`; a promise settles only after that commit returned, so
 * what a caller is told is on disk. One commit is in flight per process.
 *
 * What nobody waits for may be written `later`: it joins the next group, or is
 * committed alone a moment after. A crash may lose it; nothing else does.
 */
import type { Client, InStatement, ResultSet, Row } from '@libsql/client'
import { setImmediate } from 'node:timers'
import { GridError } from '../errors.ts'
import type { Log } from '../deps.ts'
import type { Statement } from './driver/binding.ts'
import { errorCode, isBusy, isConstraint, isOneUnitsFault, isRemoteLoss, isStorageFault } from './driver/database-errors.ts'

/** Rows of each statement of a unit, in order. Names are the database's, values are undecoded. */
export type UnitRows = Row[][]

interface Unit {
  statements: Statement[]
  rows: number
  since: number
  resolve(rows: UnitRows): void
  reject(error: unknown): void
  /** Nobody waits for it. */
  isLate?: true
}

export interface QueueOptions {
  client: Pick<Client, 'batch'>
  log: Log
  now: () => number
  /** True for a local file; a remote group whose answer got lost, or that met a lock, is sent once more. */
  local: boolean
  /** Sees every statement before it runs; may throw. */
  inspect: (sql: string) => void
  /** The disk failed under a commit: what is in the file is unknown, the process must end. */
  onStorageFault: (error: unknown) => void
  /** Called after an error that was no unit's fault: throws when the connection has lost its lock. */
  checkConnection: () => Promise<void>
}

const maxUnits = 128
const maxRows = 2_000
const maxWaiting = 1_000
const maxWaitMs = 2_000
/** How often what waits is looked through while a commit hangs. */
const sweepMs = 250
/** Units written later: how many may wait, how many join one group, and how long they wait for one. */
const maxLate = 10_000
const maxLateInGroup = 256
const lateMs = 200
/** How long they wait after a commit of theirs was not accepted. */
const lateRetryMs = 1_000

export class WriteQueue {
  readonly #options: QueueOptions
  /** Waiting units by account, so that one busy account does not starve the others. */
  readonly #lanes = new Map<string, Unit[]>()
  #waiting = 0
  #late: Unit[] = []
  #lateTimer: ReturnType<typeof setTimeout> | undefined
  #lateIsDue = false
  #running = false
  #broken = false
  #ended = false
  #idle: (() => void)[] = []

  constructor(options: QueueOptions) {
    this.#options = options
  }

  /** Commit `statements` as one unit. `lane` is the account, or empty for global writes. */
  write(lane: string, statements: Statement[]): Promise<UnitRows> {
    for (const statement of statements) this.#options.inspect(statement.sql)
    if (this.#broken) return Promise.reject(storageFailed())
    if (this.#ended) return Promise.reject(stopped())
    if (this.#waiting >= maxWaiting) return Promise.reject(overloaded())

    return new Promise((resolve, reject) => {
      const rows = statements.reduce((sum, statement) => sum + (statement.rows ?? 1), 0)
      const unit: Unit = { statements, rows, since: this.#options.now(), resolve, reject }
      const waiting = this.#lanes.get(lane)
      if (waiting) waiting.push(unit)
      else this.#lanes.set(lane, [unit])
      this.#waiting++
      this.#schedule()
    })
  }

  /** Take nothing more: work that nobody waits for may still come. Resolves as `drained` does. */
  end(): Promise<void> {
    this.#ended = true
    return this.drained()
  }

  /**
   * Commit `statements` as one unit that costs no commit of its own where others write, and that nobody waits
   * for. Refused by the database it is logged; not accepted, it is tried again. Statements must bear being
   * repeated, and being lost in a crash.
   */
  later(statements: Statement[]): void {
    for (const statement of statements) this.#options.inspect(statement.sql)
    if (this.#broken || this.#ended) return
    const rows = statements.reduce((sum, statement) => sum + (statement.rows ?? 1), 0)
    const unit: Unit = {
      statements,
      rows,
      since: 0,
      isLate: true,
      resolve: () => {},
      reject: (error) => this.#failLate(unit, error),
    }
    this.#addLate(unit, lateMs)
  }

  /** Resolves when nothing waits, also for later, and nothing runs. */
  drained(): Promise<void> {
    this.#flushLate()
    if (!this.#running && this.#waiting === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #addLate(unit: Unit, ms: number): void {
    if (this.#late.length >= maxLate) {
      this.#options.log.warn('Too much waits to be written later; the oldest of it is dropped')
      this.#late.shift()
    }
    this.#late.push(unit)
    this.#lateTimer ??= setTimeout(() => this.#flushLate(), ms)
  }

  #flushLate(): void {
    clearTimeout(this.#lateTimer)
    this.#lateTimer = undefined
    if (this.#late.length === 0) return
    this.#lateIsDue = true
    this.#schedule()
  }

  /** A refusal is final; a database that did not accept anything is asked again, but not by who waits for the end. */
  #failLate(unit: Unit, error: unknown): void {
    if (this.#broken) return
    const isRefused = !(error instanceof GridError) || error.code !== 'unavailable'
    if (!isRefused && this.#idle.length === 0) return this.#addLate(unit, lateRetryMs)
    this.#options.log.warn('What was to be written later was not', { error })
  }

  /** A turn of the event loop, not a delay: whoever arrived in the same turn shares the commit. */
  #schedule(): void {
    if (this.#running) return
    this.#running = true
    setImmediate(() => void this.#run())
  }

  async #run(): Promise<void> {
    // A remote commit may hang; who waits behind it is told so in time all the same.
    const sweep = setInterval(() => this.#refuseOverdue(), sweepMs)
    while (this.#waiting > 0 || this.#lateIsDue || (this.#idle.length > 0 && this.#late.length > 0)) {
      this.#refuseOverdue()
      // In front: what was asked for first is done first.
      const group = [...this.#takeLate(), ...this.#take()]
      if (group.length > 0) await this.#commit(group)
    }
    clearInterval(sweep)
    this.#running = false
    for (const resolve of this.#idle.splice(0)) resolve()
  }

  /** Refuse what has waited too long. Each lane is in order of arrival. */
  #refuseOverdue(): void {
    const since = this.#options.now() - maxWaitMs
    for (const [lane, units] of this.#lanes) {
      while (units.length > 0 && units[0].since < since) {
        this.#waiting--
        units.shift()!.reject(overloaded())
      }
      if (units.length === 0) this.#lanes.delete(lane)
    }
  }

  /** The next group: one unit of each lane in turn, as long as it stays small enough. */
  #take(): Unit[] {
    const group: Unit[] = []
    let rows = 0
    for (const [lane, units] of this.#lanes) {
      group.push(units.shift()!)
      this.#waiting--
      rows += group[group.length - 1].rows
      // Back to the end of the line, where this loop and the next group find it after all others.
      this.#lanes.delete(lane)
      if (units.length > 0) this.#lanes.set(lane, units)
      if (group.length >= maxUnits || rows >= maxRows) break
    }
    return group
  }

  #takeLate(): Unit[] {
    const units = this.#late.splice(0, maxLateInGroup)
    if (this.#late.length === 0) {
      clearTimeout(this.#lateTimer)
      this.#lateTimer = undefined
      this.#lateIsDue = false
    }
    return units
  }

  async #commit(group: Unit[]): Promise<void> {
    if (this.#broken) {
      for (const unit of group) unit.reject(storageFailed())
      return
    }
    const statements = group.flatMap((unit) => unit.statements)
    try {
      const results = await this.#batch(statements)
      let at = 0
      for (const unit of group) {
        unit.resolve(results.slice(at, at += unit.statements.length).map((result) => result.rows))
      }
    } catch (error) {
      if (isOneUnitsFault(error) && group.length > 1) {
        for (const part of alone(group)) await this.#commit(part)
        return
      }
      const failure = await this.#failure(error)
      for (const unit of group) unit.reject(failure)
    }
  }

  async #batch(statements: InStatement[]): Promise<ResultSet[]> {
    try {
      return await this.#options.client.batch(statements, 'write')
    } catch (error) {
      // The answer got lost, or the server's lock was another process's for a moment: the group may be stored, or is
      // not. Units are safe to repeat, so we ask again once.
      if (this.#options.local || !(isRemoteLoss(error) || isBusy(error))) throw error
      this.#options.log.warn('The database was lost or locked during a commit; repeating it once')
      return await this.#options.client.batch(statements, 'write')
    }
  }

  async #failure(error: unknown): Promise<unknown> {
    if (isConstraint(error)) {
      return new GridError('write_conflict', 'The grid changed while this call was under way. Repeat it.')
    }
    if (isOneUnitsFault(error)) return error
    this.#options.log.error('A commit failed', { code: errorCode(error), error })
    if (this.#options.local) {
      // A server's disk is the server's affair.
      if (isStorageFault(error)) return this.#break(error)
      try {
        await this.#options.checkConnection()
      } catch (lost) {
        return this.#break(lost)
      }
    }
    return new GridError('unavailable', 'The database did not accept the write. Repeat the call.', {
      retryAfterSeconds: 1,
    })
  }

  /** Nothing is written any more by this process. */
  #break(error: unknown): GridError {
    this.#broken = true
    this.#options.onStorageFault(error)
    return storageFailed()
  }
}

/** Each unit by itself, but what nobody waits for together, as long as it is not all there is. */
function alone(group: Unit[]): Unit[][] {
  const late = group.filter((unit) => unit.isLate)
  if (late.length === group.length) return group.map((unit) => [unit])
  const others = group.filter((unit) => !unit.isLate).map((unit) => [unit])
  return late.length === 0 ? others : [...others, late]
}

function overloaded(): GridError {
  return new GridError('unavailable', 'The grid is busy. Repeat the call in a moment.', {
    retryAfterSeconds: 1,
    nothingDone: true,
  })
}

function stopped(): GridError {
  return new GridError('unavailable', 'The grid is stopping.', { retryAfterSeconds: 5 })
}

function storageFailed(): GridError {
  return new GridError('unavailable', 'The grid cannot write to its disk and is stopping.', { retryAfterSeconds: 5 })
}
