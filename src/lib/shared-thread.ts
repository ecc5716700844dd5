/** A thread that many owners share for short jobs. The time that an owner's jobs took determines its next turn. */
import { clearTimeout, setTimeout } from 'node:timers'
import { LruMap } from './lru-map.ts'
import { hasThreads, JobTooLong, Thread, type ThreadProgram } from './run-on-thread.ts'

/** The job was not started within its waiting time, and has done nothing. */
export class NoTurn extends Error {}

interface Job {
  /** The number of characters that the job reads. */
  readonly size: number
  /** Runs the job. Resolves to the milliseconds that the thread worked on it. Never fails. */
  run(): Promise<number>
  /** Refuses the job if it has not been started in time. */
  readonly timer: NodeJS.Timeout
}

/** One owner's jobs. */
interface Lane {
  readonly jobs: Set<Job>
  /** The owner's virtual time. Increases by the milliseconds that the owner's jobs take. */
  turn: number
  /** How long the owner's recent jobs took, and how long each character of its last large job took, in milliseconds. */
  recentMs: number
  characterMs: number
  /** Whether the owner's last job took too long. */
  isTooLong: boolean
}

const mostLanes = 10_000
/** The estimated time per character for an unknown owner, which assumes the slowest expressions. */
const unknownCharacterMs = .005
/** The minimum size of a job from which the time per character is estimated. */
const largeJob = 10_000
/** If a job runs for this long, the next thread is started, because this one may have to end. */
const longJobMs = 300

export interface SharedThreadOptions {
  program: ThreadProgram
  maxMegabytes: number
  maxWaitMs: number
  /** Builds the program for tests, where Node runs sources and has no thread otherwise. */
  build?: () => Promise<URL>
}

/**
 * Runs jobs in the order in which they would end if every owner had an equal share of a thread. A slow job therefore
 * does not delay owners whose jobs are quick, even if many owners have slow ones.
 *
 * The first job starts the thread. A job that takes too long ends the thread, and the next job starts another. Deno
 * cannot terminate a busy thread. There, such a job continues next to the new thread, and jobs that may take as long
 * wait until it is done.
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
  /** The number of threads that still work on jobs that took too long. */
  #leaving = 0
  #isServing = false
  /** The virtual start time of the last started job. An owner that was idle starts here, without credit. */
  #turn = 0

  constructor(options: SharedThreadOptions) {
    this.#options = options
  }

  /**
   * Runs the job `name`. Resolves to its result, which equals the result of `work`, or fails with its error. `size` is
   * the approximate number of characters that the job reads. Fails with `NoTurn`, or with `JobTooLong` if it runs for
   * more than `maxMs`.
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
        if (lane.jobs.delete(job)) reject(new NoTurn('The job timed out while it waited for its turn'))
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

  /** Performs a job. The time for starting a thread does not count, because the job's owner did not cause it. */
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
    // The job that needs the thread reports the failure.
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
