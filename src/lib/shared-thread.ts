/** A thread for many owners' short jobs. They take turns according to the time that their jobs took. */
import { clearTimeout, setTimeout } from 'node:timers'
import { LruMap } from './lru-map.ts'
import { hasThreads, JobTooLong, Thread, type ThreadProgram } from './run-on-thread.ts'

/** A job got no turn within its maximum wait. It has not started. */
export class NoTurn extends Error {}

interface Job {
  /** Number of characters. */
  readonly size: number
  /** Resolves to how many milliseconds the thread worked on the job. Never fails. */
  run(): Promise<number>
  /** Refuses the job if it gets no turn in time. */
  readonly timer: NodeJS.Timeout
}

/** One owner's jobs. */
interface Lane {
  readonly jobs: Set<Job>
  /** Grows by the milliseconds that this owner's jobs take. */
  turn: number
  /** Recent duration of the owner's jobs, in milliseconds, and of each character of its last large job. */
  recentMs: number
  characterMs: number
  /** Whether its last job took too long. */
  isTooLong: boolean
}

const mostLanes = 10_000
/** For an unknown owner, whose expressions are assumed to be as slow as possible. */
const unknownCharacterMs = .005
/** Smaller jobs do not reveal the time per character. */
const largeJob = 10_000
/** After a job has run this long, the next thread is started, because this one may have to be terminated. */
const longJobMs = 300

export interface SharedThreadOptions {
  program: ThreadProgram
  maxMegabytes: number
  /** Maximum time that a job waits for its turn. */
  maxWaitMs: number
  /** Builds the program for tests, where Node runs sources and would have no thread. */
  build?: () => Promise<URL>
}

/**
 * Runs the job first that would end first if all owners had equal shares of the thread, so that slow jobs never delay
 * owners with quick ones, however many owners have slow ones.
 *
 * A job starts the thread, and one that takes too long ends it. Deno cannot end a busy thread, so that job continues
 * beside the next thread, and jobs that may be as slow wait until it is done.
 *
 * @see Goyal, Vin, Cheng: "Start-time fair queueing", 1996; Demers, Keshav, Shenker: "Analysis and simulation of a fair
 * queueing algorithm", 1989, for the order by ends
 */
export class SharedThread {
  readonly #options: SharedThreadOptions
  readonly #lanes = new LruMap<string, Lane>(mostLanes)
  readonly #waiting = new Set<Lane>()
  #thread: Thread | undefined
  #nextThread: Promise<Thread> | undefined
  /** Number of threads that are still working on jobs that took too long. */
  #leaving = 0
  #isServing = false
  /** The turn of the job that started last. Idle owners resume here, so they cannot save up time. */
  #turn = 0

  constructor(options: SharedThreadOptions) {
    this.#options = options
  }

  /**
   * Resolves to the result of the job `name`, which is the same as that of `work`, or fails with its error. `size` is
   * roughly the number of characters to read. Fails with `NoTurn`, or with `JobTooLong` if it runs longer than `maxMs`.
   */
  run<Input, Result>(
    owner: string,
    name: string,
    work: (input: Input) => Promise<Result>,
    input: Input,
    { size, maxMs }: { size: number; maxMs: number },
  ): Promise<Result> {
    if (!hasThreads && !this.#options.build) return work(input)
    return new Promise((resolve, reject) => {
      const lane = this.#laneOf(owner)
      const refuse = () => {
        if (lane.jobs.delete(job)) reject(new NoTurn('The job had no turn in time'))
      }
      const job = {
        size,
        run: () => this.#perform<Result>(lane, { name, input }, maxMs, resolve, reject),
        timer: setTimeout(refuse, this.#options.maxWaitMs),
      }
      lane.jobs.add(job)
      this.#waiting.add(lane)
      if (!this.#isServing) void this.#serve()
    })
  }

  #laneOf(owner: string): Lane {
    let lane = this.#lanes.get(owner)
    if (!lane) {
      this.#lanes.set(
        owner,
        lane = { jobs: new Set(), turn: 0, recentMs: 0, characterMs: unknownCharacterMs, isTooLong: false },
      )
    }
    if (lane.jobs.size === 0) lane.turn = Math.max(lane.turn, this.#turn)
    return lane
  }

  async #serve(): Promise<void> {
    this.#isServing = true
    for (let lane; (lane = this.#next());) {
      const [job] = lane.jobs
      lane.jobs.delete(job)
      clearTimeout(job.timer)
      this.#turn = lane.turn
      const tookMs = await job.run()
      lane.turn += tookMs
      lane.recentMs = Math.max(tookMs, lane.recentMs / 2)
      if (job.size >= largeJob) lane.characterMs = tookMs / job.size
    }
    this.#thread?.keepAlive(false)
    this.#isServing = false
  }

  #next(): Lane | undefined {
    let first: { lane: Lane; end: number } | undefined
    for (const lane of this.#waiting) {
      const [job] = lane.jobs
      if (!job) {
        this.#waiting.delete(lane)
        continue
      }
      const sizeMs = job.size * lane.characterMs
      if (this.#leaving > 0 && (lane.isTooLong || sizeMs > longJobMs)) continue
      const end = lane.turn + Math.max(lane.recentMs, sizeMs)
      if (!first || end < first.end) first = { lane, end }
    }
    return first?.lane
  }

  /** Runs a job. Starting a thread is not the owner's fault, so the start does not count. */
  async #perform<Result>(
    lane: Lane,
    job: { name: string; input: unknown },
    maxMs: number,
    resolve: (result: Result) => void,
    reject: (error: unknown) => void,
  ): Promise<number> {
    let startedAt = performance.now()
    let longJob: NodeJS.Timeout | undefined
    let thread: Thread | undefined
    try {
      thread = await this.#ready()
      startedAt = performance.now()
      longJob = setTimeout(() => void this.#startNext(), longJobMs)
      thread.keepAlive(true)
      resolve(await thread.run<Result>(job, maxMs))
      lane.isTooLong = false
    } catch (error) {
      reject(error)
      lane.isTooLong = error instanceof JobTooLong
      if (thread && lane.isTooLong) void this.#leave(thread)
    }
    clearTimeout(longJob)
    return performance.now() - startedAt
  }

  async #leave({ gone }: Thread): Promise<void> {
    this.#leaving++
    await gone
    this.#leaving--
    if (!this.#isServing) void this.#serve()
  }

  async #ready(): Promise<Thread> {
    while (!this.#thread || this.#thread.hasEnded) {
      const starting = this.#startNext()
      this.#nextThread = undefined
      this.#thread = await starting
    }
    return this.#thread
  }

  #startNext(): Promise<Thread> {
    this.#nextThread ??= this.#start()
    // The failure is reported by the job that needs the thread.
    this.#nextThread.catch(() => {})
    return this.#nextThread
  }

  async #start(): Promise<Thread> {
    const { program, maxMegabytes, build } = this.#options
    const thread = await Thread.start(program, maxMegabytes, await build?.())
    thread.keepAlive(false)
    return thread
  }
}
