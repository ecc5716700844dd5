/**
 * The write queue, which commits waiting units in groups of limited size.
 *
 * A unit is an atomic list of statements. A group of units is one `batch(…, 'write')`, and a unit's promise settles
 * only after that commit returns. So a caller never gets a response before its data is on disk. Each process has at
 * most one commit in flight.
 *
 * A deferred unit has no waiting caller. It joins the next group, or is committed alone a moment later. A crash may
 * lose it.
 */
import type { Client, ResultSet } from '@libsql/client'
import { setImmediate } from 'node:timers'
import { GridError } from '../errors.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../telemetry.ts'
import { nextIteration } from '../lib/limits/request-scheduler.ts'
import type { Statement } from './sql.ts'
import {
  errorCode,
  isBusy,
  isConnectionLoss,
  isConstraint,
  isFull,
  isStatementFault,
  isStorageFault,
} from './driver/database-errors.ts'
import type { DiskSpace } from './driver/disk-space.ts'
import { Lanes, type Unit, type UnitRows } from './queue/lanes.ts'

export type { UnitRows }

export interface QueueOptions {
  client: Pick<Client, 'batch'>
  log: Log
  /** A monotonic clock, in milliseconds. */
  now: () => number
  /** False for a remote database. There, a group is sent again if its result was lost or the database was locked. */
  local: boolean
  /** Notified when the disk is full, and when a remote database accepts writes again. */
  storage: Pick<DiskSpace, 'isFull' | 'hasRoomFor' | 'full' | 'recover'>
  inspect?: (sql: string) => void
  /** Notified of each commit before the callers get their responses. */
  keys?: { committed(statements: readonly Statement[]): void }
  metrics?: Metrics
  /** Called after each commit. */
  committed?: () => void
  /** Called when the disk failed during a commit. The file's content is then unknown, so the process must exit. */
  onStorageFault: (error: unknown) => void
}

/** How often overdue units are refused while a commit does not return. */
const sweepMs = 250
/** Maximum number of event loop turns in which a group gathers units. */
export const maxGatherTurns = 4
/** Limits for deferred units: how many may wait, how many may join one group, and how long they wait for a group. */
const maxDeferred = 10_000
const maxDeferredInGroup = 256
const deferMs = 200
const deferredRetryMs = 1_000

export class WriteQueue {
  readonly #options: QueueOptions
  readonly #lanes = new Lanes()
  #deferred: Unit[] = []
  #deferTimer: ReturnType<typeof setTimeout> | undefined
  #isDeferredDue = false
  #isDropping = false
  #running = false
  #hasStorageFault = false
  #ended = false
  #onIdle: (() => void)[] = []

  constructor(options: QueueOptions) {
    this.#options = options
  }

  #inspect(statements: Statement[]): void {
    const { inspect } = this.#options
    if (inspect) { for (const { sql } of statements) inspect(sql) }
  }

  /**
   * Commits `statements` as one unit. `lane` is the account, or empty for global writes. Fails with `write_conflict` if
   * a constraint or a precondition fails, with `storage_full` if the disk is full, and with `unavailable` if the queue
   * is full or the database does not accept writes.
   */
  write(lane: string, statements: Statement[]): Promise<UnitRows> {
    this.#inspect(statements)
    if (this.#hasStorageFault) return Promise.reject(storageFailed())
    if (this.#ended) return Promise.reject(stopped())

    return new Promise((resolve, reject) => {
      this.#lanes.add(lane, { statements, since: this.#options.now(), resolve, reject })
      this.#schedule()
    })
  }

  /** The number of units that wait for a commit. */
  get waiting(): number {
    return this.#lanes.size
  }

  /** Fails with `storage_full` if a local disk lacks room for `fileBytes`. A remote disk is only checked by writes. */
  requireSpace(fileBytes = 0): void {
    const { local, storage } = this.#options
    if (local && (storage.isFull || (fileBytes > 0 && !storage.hasRoomFor(fileBytes)))) throw storageFull()
  }

  /** Refuses further units, and drops further deferred ones. Resolves when the queue is drained. */
  end(): Promise<void> {
    this.#ended = true
    return this.drained()
  }

  /**
   * Commits `statements` as a deferred unit, which joins the commit of other units if there are any. Logs a refusal by
   * the database. Retries if the database is unavailable. The statements must be safe to repeat, and a crash may lose
   * them.
   */
  writeLater(statements: Statement[]): void {
    this.#inspect(statements)
    if (this.#hasStorageFault || this.#ended) return
    const unit: Unit = {
      statements,
      since: 0,
      isDeferred: true,
      resolve: () => {},
      reject: (error) => this.#rejectDeferred(unit, error),
    }
    this.#defer(unit, deferMs)
  }

  /** Resolves when no unit waits, including deferred ones, and no commit runs. */
  drained(): Promise<void> {
    this.#flushDeferred()
    if (!this.#running && this.#lanes.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onIdle.push(resolve))
  }

  #defer(unit: Unit, ms: number): void {
    if (this.#deferred.length >= maxDeferred) {
      if (!this.#isDropping) this.#options.log.warn('Too many deferred writes; the oldest are dropped')
      this.#isDropping = true
      this.#deferred.shift()
    }
    this.#deferred.push(unit)
    this.#deferTimer ??= setTimeout(() => this.#flushDeferred(), ms)
  }

  #flushDeferred(): void {
    clearTimeout(this.#deferTimer)
    this.#deferTimer = undefined
    if (this.#deferred.length === 0) return
    this.#isDeferredDue = true
    this.#schedule()
  }

  /** Logs a refusal, which is final. Retries if the database is unavailable, unless the queue is being drained. */
  #rejectDeferred(unit: Unit, error: unknown): void {
    if (this.#hasStorageFault) return
    const isRefused = !(error instanceof GridError) || error.kind !== 'unavailable'
    if (!isRefused && this.#onIdle.length === 0) return this.#defer(unit, deferredRetryMs)
    this.#options.log.warn('A deferred write failed', { error })
  }

  /** Starts a commit. Units that arrive within a few turns of the event loop share it. */
  #schedule(): void {
    if (this.#running) return
    this.#running = true
    this.#gather(0, maxGatherTurns)
  }

  /** Waits as long as each turn adds a unit, because calls that read in the same turn write in the following turns. */
  #gather(before: number, turns: number): void {
    setImmediate(() => {
      const { size } = this.#lanes
      if (size > before && turns > 1) this.#gather(size, turns - 1)
      else void this.#run()
    })
  }

  async #run(): Promise<void> {
    // A remote commit may take long to return, but the units behind it must be refused in time.
    const sweep = setInterval(() => this.#lanes.refuseOverdue(this.#options.now()), sweepMs)
    while (
      this.#lanes.size > 0 || this.#isDeferredDue ||
      (this.#onIdle.length > 0 && this.#deferred.length > 0)
    ) {
      this.#lanes.refuseOverdue(this.#options.now())
      // Deferred units come first, because they were submitted first.
      const group = [...this.#takeDeferred(), ...this.#lanes.take()]
      if (group.length > 0) await this.#commit(group)
      // A commit to a local file blocks the event loop, so other work gets a turn between two groups.
      if (this.#lanes.size > 0 && this.#options.local) await new Promise<void>(nextIteration)
    }
    clearInterval(sweep)
    this.#running = false
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  #takeDeferred(): Unit[] {
    const units = this.#deferred.splice(0, maxDeferredInGroup)
    if (this.#deferred.length === 0) {
      clearTimeout(this.#deferTimer)
      this.#deferTimer = undefined
      this.#isDeferredDue = false
      this.#isDropping = false
    }
    return units
  }

  async #commit(group: Unit[]): Promise<void> {
    if (this.#hasStorageFault) {
      for (const unit of group) unit.reject(storageFailed())
      return
    }
    const statements = group.flatMap((unit) => unit.statements)
    const { metrics, now } = this.#options
    const since = now()
    const report = (isFailed: boolean) => metrics?.commit(statements.length, now() - since, isFailed)
    try {
      const results = await this.#send(statements)
      report(false)
      this.#options.committed?.()
      let next = 0
      for (const { statements, resolve } of group) resolve(statements.map(() => results[next++].rows))
    } catch (error) {
      report(true)
      if (isStatementFault(error) && group.length > 1) {
        for (const part of split(group)) await this.#commit(part)
        return
      }
      const failure = this.#failure(error)
      for (const unit of group) unit.reject(failure)
    }
  }

  /** Changes reach the database only here. */
  async #send(statements: Statement[]): Promise<ResultSet[]> {
    const { client, keys, local, log, storage } = this.#options
    try {
      const results = await client.batch(statements, 'write')
      if (storage.isFull && !local) storage.recover()
      return results
    } catch (error) {
      // The group may or may not be stored, because the result was lost or another process held the server's lock.
      // Units are safe to repeat, so the group is sent once more.
      if (local || !(isConnectionLoss(error) || isBusy(error))) throw error
      log.warn('The database was lost or locked during a commit; repeating it once')
      return await client.batch(statements, 'write')
    } finally {
      // Called after an error too, because the outcome may be unknown.
      keys?.committed(statements)
    }
  }

  #failure(error: unknown): unknown {
    if (isConstraint(error)) {
      return new GridError('write_conflict', 'The grid changed during this call. Repeat it.')
    }
    if (isStatementFault(error)) return error
    // The storage logs a full disk once, so it is not logged again for each call.
    if (!isFull(error)) this.#options.log.error('A commit failed', { code: errorCode(error), error })
    // Only for a local file, because a server handles faults of its own disk.
    if (this.#options.local && isStorageFault(error)) return this.#stopWriting(error)
    if (isFull(error)) {
      this.#options.storage.full()
      return storageFull()
    }
    return new GridError('unavailable', 'The database did not accept the write. Repeat the call.', {
      retryAfterSeconds: 1,
    })
  }

  /** After a storage fault, this process never writes again. */
  #stopWriting(error: unknown): GridError {
    this.#hasStorageFault = true
    this.#options.onStorageFault(error)
    return storageFailed()
  }
}

/** Splits a group into one group per unit. Deferred units stay together if the group has other units. */
function split(group: Unit[]): Unit[][] {
  const deferred = group.filter((unit) => unit.isDeferred)
  if (deferred.length === group.length) return group.map((unit) => [unit])
  const others = group.filter((unit) => !unit.isDeferred).map((unit) => [unit])
  return deferred.length === 0 ? others : [...others, deferred]
}

function storageFull(): GridError {
  return new GridError(
    'storage_full',
    'The disk of this grid is full, so nothing was stored. Repeat the call later, and tell the operator. ' +
      'Stored messages can still be read. If a read fails too, use since or peek.',
    { retryAfterSeconds: 10, notExecuted: true },
  )
}

function stopped(): GridError {
  return new GridError('unavailable', 'The grid is stopping.', { retryAfterSeconds: 5 })
}

function storageFailed(): GridError {
  return new GridError('unavailable', 'The grid cannot write to its disk and is stopping.', { retryAfterSeconds: 5 })
}
