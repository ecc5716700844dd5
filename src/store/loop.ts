/**
 * A process's only loop. It notices its own commits immediately, and other commits by polling the database. Then it
 * runs followers that are behind and duties that are due. See docs/architecture.md, "After the commit".
 */
import { clearTimeout, setTimeout } from 'node:timers'
import { GridError, isStorageFull } from '../errors.ts'
import type { Log } from '../lib/log.ts'
import { hour, second } from '../lib/time.ts'
import type { Pulse, StoredDuty, StoredFollower } from './global/pulse.ts'

/** The log rows after one number and up to another. */
export interface Batch {
  after: number
  upTo: number
}

interface AnyFollower {
  readonly name: string
  /** The last position that the follower can read in this pulse. */
  end(pulse: Pulse): number
  /** Resolves to the number of the last of the next `limit` rows. */
  next(after: number, end: number, limit: number): Promise<number>
  /** The batch size in rows. */
  readonly limit: number
}

/** A follower that exists once per grid, with a stored position. */
export interface GridFollower extends AnyFollower {
  readonly name: StoredFollower
  /** How long a row waits for other rows to share its batch. The default is 40 ms. */
  readonly gatherMs?: number
  /** Writes the batch's results and advances the position in one unit. Does nothing if another process has done so. */
  apply(batch: Batch): Promise<void>
  /** Skips a batch of one row that keeps failing. */
  skip(batch: Batch, reason: string): Promise<void>
}

/** A follower that serves this process. Its position is in memory. */
export interface ProcessFollower extends AnyFollower {
  /** Whether the follower has listeners. Without listeners, it skips all rows. */
  isActive(): boolean
  /** The poll interval while the follower has listeners. */
  readonly pollMs: number
  /** Whether the follower runs at every turn of the loop, because it also reads data outside the log. */
  readonly looksAlways?: true
  apply(batch: Batch): Promise<void>
  /** Called when the follower starts, because it may have missed earlier events. */
  begin(): void
}

/** Work that is due at the time stored under its name, at the earliest of several stored times, or every `everyMs`. */
export type Duty =
  & {
    run(): Promise<void>
    /** Resolves when all work that the duty's runs have started is done. */
    settled?(): Promise<void>
  }
  & (
    | { name: string; at: readonly StoredDuty[]; everyMs?: undefined }
    | { name: StoredDuty; at?: undefined; everyMs?: undefined }
    | { name: string; everyMs: number; firstMs?: number }
  )

/** A stuck follower, and since when it has been stuck, in milliseconds since the epoch. */
export interface Standing {
  follower: StoredFollower
  since: number
}

interface RunningFollower {
  follower: GridFollower | ProcessFollower
  position: number | undefined
  /** The batch in progress, if any. */
  work?: Promise<void>
  /** When the follower fell behind, by `performance.now()`. */
  behindSince?: number
  limit: number
  failures: number
  retryAt: number
  /** The follower's position, and since when, by `performance.now()`. `loggedAt`: when its progress was last logged. */
  stands: { position: number; since: number }
  loggedAt: number
}

interface RunningDuty {
  duty: Duty
  work?: Promise<void>
  /** The earliest time of the next run, by `performance.now()`. */
  nextAt: number
}

interface LoopOptions {
  pulse(): Promise<Pulse>
  log: Log
  /** The grid's clock, for stored times. */
  now(): number
  /** The delay after a failure. */
  retryMs?: number
  /** How long a follower may be behind without advancing before it counts as stuck. */
  standsMs?: number
}

/** How often the loop polls for commits of other processes. */
const pollMs = second
const gatherMs = 40
const defaultRetryMs = second
const defaultStandsMs = hour
/** How many rows a follower must be behind for its progress to be logged, and how often it is logged. */
const manyRows = 10_000
const logMs = 10 * second
/** How many times a row may fail on its own before it is skipped. */
const maxFailures = 3

export class Loop {
  readonly #options: LoopOptions
  readonly #retryMs: number
  readonly #standsMs: number
  readonly #followers = new Set<RunningFollower>()
  readonly #duties = new Set<RunningDuty>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timerAt = Infinity
  #ticking: Promise<void> | undefined
  /** Whether another turn was requested during a turn. */
  #isWanted = false
  #isClosed = false
  /** The last response of the database. */
  pulse: Pulse | undefined

  constructor(options: LoopOptions) {
    this.#options = options
    this.#retryMs = options.retryMs ?? defaultRetryMs
    this.#standsMs = options.standsMs ?? defaultStandsMs
  }

  /** Starts a follower. Returns a function that stops it and waits for its batch. */
  follow(follower: GridFollower | ProcessFollower): () => Promise<void> {
    const running: RunningFollower = {
      follower,
      position: undefined,
      limit: follower.limit,
      failures: 0,
      retryAt: 0,
      stands: { position: 0, since: performance.now() },
      loggedAt: -Infinity,
    }
    this.#followers.add(running)
    this.wake()
    return async () => {
      this.#followers.delete(running)
      await this.#ticking
      await running.work
    }
  }

  /** The number of rows that a stored follower has not read, as this process last saw it. */
  behind(follower: StoredFollower): number {
    const running = [...this.#followers].find((running) => running.follower.name === follower)
    if (!running || !this.pulse) return 0
    return Math.max(0, running.follower.end(this.pulse) - Math.max(0, this.pulse.positions.get(follower) ?? 0))
  }

  /** The stuck stored followers, as seen by this process, and since when they have been stuck, by the grid's clock. */
  standing(): Standing[] {
    const now = performance.now()
    return [...this.#followers].flatMap(({ follower, position, stands: { since } }) => {
      if (servesProcess(follower) || !this.pulse || now - since < this.#standsMs) return []
      if ((position ?? 0) >= follower.end(this.pulse)) return []
      return [{ follower: follower.name, since: this.#options.now() - Math.round(now - since) }]
    })
  }

  /** Starts a duty. Returns a function that stops it and waits for its run. */
  perform(duty: Duty): () => Promise<void> {
    const firstMs = duty.everyMs === undefined ? 0 : duty.firstMs ?? duty.everyMs
    const running: RunningDuty = { duty, nextAt: performance.now() + firstMs }
    this.#duties.add(running)
    this.wake()
    return async () => {
      this.#duties.delete(running)
      await this.#ticking
      await running.work
      await duty.settled?.()
    }
  }

  /** Schedules a turn soon. Call after a commit or for a new listener. */
  wake(): void {
    this.#schedule(this.#isServing() ? 0 : gatherMs)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#ticking
    await Promise.all([...this.#followers, ...this.#duties].map(({ work }) => work))
  }

  #isServing(): boolean {
    return this.#activePolls().length > 0
  }

  #schedule(ms: number): void {
    const at = performance.now() + ms
    if (this.#isClosed || at >= this.#timerAt) return
    clearTimeout(this.#timer)
    this.#timerAt = at
    this.#timer = setTimeout(() => {
      this.#timerAt = Infinity
      if (this.#ticking) this.#isWanted = true
      else this.#run()
    }, ms)
    this.#timer.unref()
  }

  #run(): void {
    this.#ticking = this.#tick().finally(() => {
      this.#ticking = undefined
      if (this.#isWanted) this.#schedule(0)
    })
  }

  /** The poll intervals of all followers with listeners. */
  #activePolls(): number[] {
    return [...this.#followers].flatMap(({ follower }) =>
      servesProcess(follower) && follower.isActive() ? [follower.pollMs] : []
    )
  }

  async #tick(): Promise<void> {
    this.#isWanted = false
    const polls = this.#activePolls()
    const hasWork = this.#duties.size > 0 || [...this.#followers].some(({ follower }) => !servesProcess(follower))
    if (polls.length === 0 && !hasWork) {
      for (const running of this.#followers) running.position = undefined
      return
    }
    try {
      const pulse = this.pulse = await this.#options.pulse()
      this.#schedule(Math.min(pollMs, ...polls))
      for (const running of this.#followers) this.#follow(running, pulse)
      for (const running of this.#duties) this.#perform(running, pulse)
    } catch (error) {
      this.#options.log.warn('The outcome of a write could not be read from the database', { error })
      this.#schedule(this.#retryMs)
    }
  }

  #follow(running: RunningFollower, pulse: Pulse): void {
    const { follower } = running
    if (running.work) return
    const end = follower.end(pulse)
    const now = performance.now()
    if (servesProcess(follower)) {
      if (running.position === undefined || !follower.isActive()) {
        const isFirst = running.position === undefined
        running.position = end
        if (isFirst) follower.begin()
        return
      }
    } else {
      running.position = pulse.positions.get(follower.name) ?? end
    }
    if (running.position >= end && !('looksAlways' in follower)) {
      running.behindSince = undefined
      running.stands = { position: running.position, since: now }
      return
    }
    this.#watch(running, running.position, end)
    running.behindSince ??= now
    const waitMs = Math.max(
      running.retryAt - now,
      servesProcess(follower) ? 0 : running.behindSince + gatherMsOf(follower) - now,
    )
    if (waitMs > 0) return this.#schedule(waitMs)
    this.#start(running, running.position, end)
  }

  /** Logs that a follower is far behind or stuck. */
  #watch(running: RunningFollower, position: number, end: number): void {
    const now = performance.now()
    if (running.stands.position !== position) running.stands = { position, since: now }
    const isStanding = now - running.stands.since >= this.#standsMs
    if (now - running.loggedAt < (isStanding ? this.#standsMs : logMs)) return
    const facts = { follower: running.follower.name, left: end - Math.max(0, position) }
    if (isStanding) this.#options.log.error('A follower of the log makes no progress', facts)
    else if (facts.left >= manyRows) this.#options.log.info('A follower of the log is far behind', facts)
    else return
    running.loggedAt = now
  }

  #start(running: RunningFollower, after: number, end: number): void {
    running.behindSince = undefined
    running.work = step(running.follower, after, end, running.limit).then((upTo) => {
      running.position = upTo
      // The batch after a full one does not wait for more rows.
      if (upTo < end) running.behindSince = 0
      running.failures = 0
      running.limit = Math.min(running.follower.limit, running.limit * 2)
    }, (error) => this.#failed(running, after, end, error)).finally(() => {
      running.work = undefined
      if ((running.position ?? 0) < running.follower.end(this.pulse!)) this.#schedule(0)
    })
  }

  async #failed(running: RunningFollower, after: number, end: number, error: unknown): Promise<void> {
    const { follower } = running
    running.retryAt = performance.now() + this.#retryMs
    // The storage has already logged that the disk is full.
    if (isStorageFull(error)) return
    this.#options.log.warn('A follower of the log failed and will retry', { error, follower: follower.name })
    if (servesProcess(follower) || (error instanceof GridError && error.kind === 'unavailable')) return
    if (running.limit > 1) {
      // A single row may be at fault, so the next batches have one row each.
      running.limit = 1
      return
    }
    if (++running.failures < maxFailures) return
    running.failures = 0
    running.retryAt = 0
    const reason = error instanceof Error ? error.message : String(error)
    try {
      const upTo = await follower.next(after, end, 1)
      await follower.skip({ after, upTo }, reason)
      this.#options.log.error('A follower of the log skipped a row', { follower: follower.name, row: upTo, reason })
    } catch (error) {
      this.#options.log.warn('A follower of the log could not skip a row', { error, follower: follower.name })
    }
  }

  #perform(running: RunningDuty, pulse: Pulse): void {
    const { duty } = running
    if (running.work) return
    const waitMs = duty.everyMs === undefined
      ? Math.max(dueAt(duty, pulse) - this.#options.now(), running.nextAt - performance.now())
      : running.nextAt - performance.now()
    // A periodic duty can wait for the next regular turn. An extra turn would cost a request to a remote database.
    if (waitMs > 0) return duty.everyMs === undefined ? this.#schedule(waitMs) : undefined
    running.work = duty.run().catch((error) => {
      this.#options.log.warn('A worker task failed', { error, task: duty.name })
    }).finally(() => {
      running.work = undefined
      // Work that could not be done yet stays due.
      running.nextAt = performance.now() + (duty.everyMs ?? gatherMs)
    })
  }
}

function dueAt(duty: Extract<Duty, { everyMs?: undefined }>, { due }: Pulse): number {
  const times: readonly StoredDuty[] = duty.at ?? [duty.name]
  return Math.min(...times.map((time) => due.get(time) ?? Infinity))
}

function gatherMsOf(follower: GridFollower): number {
  return follower.gatherMs ?? gatherMs
}

function servesProcess(follower: GridFollower | ProcessFollower): follower is ProcessFollower {
  return 'isActive' in follower
}

/** Applies a follower to its next rows. Resolves to the number of the last row. */
export async function step(
  follower: Pick<GridFollower, 'next' | 'apply'>,
  after: number,
  end: number,
  limit: number,
): Promise<number> {
  const upTo = await follower.next(after, end, limit)
  await follower.apply({ after, upTo })
  return upTo
}
