/** One thread for the short jobs of many owners, scheduled by the time that their jobs took. */
import { clearTimeout, setTimeout } from 'node:timers'
import { LruMap } from './lru-map.ts'
import { hasThreads, JobTooLong, Thread, type ThreadProgram } from './run-on-thread.ts'

/** The job was not started within its waiting time. It has done nothing. */
export class NoTurn extends Error {}

interface Job {
  /** Number of characters. */
  readonly size: number
  /** Resolves to how many milliseconds the thread worked on the job. Never fails. */
  run(): Promise<number>
  /** When it is refused because it has not been started. */
  readonly timer: NodeJS.Timeout
}

/** One owner's jobs. */
interface Lane {
  readonly jobs: Set<Job>
  /** Increases by the milliseconds that this owner's jobs take. */
  turn: number
  /** How long the owner's recent jobs took, in milliseconds, and each character of its last large job. */
  recentMs: number
  characterMs: number
  /** The owner's last job took too long. */
  isTooLong: boolean
}

const mostLanes = 10_000
/** Estimate for an unknown owner: assumes the slowest expressions. */
const unknownCharacterMs = .005
/** Smaller jobs say nothing about the time per character. */
const largeJob = 10_000
/** After this much of a job's time limit, the next thread is started, because this one may have to end. */
const longJobMs = 300

export interface SharedThreadOptions {
  program: ThreadProgram
  maxMegabytes: number
  /** Maximum waiting time of a job. */
  maxWaitMs: number
  /** Builds the program where Node runs sources and would have no thread (tests). */
  build?: () => Promise<URL>
}

/**
 * Runs first the job that would end first if each owner had a thread with an equal share. So a slow job does not delay
 * owners whose jobs are quick, however many owners have slow ones.
 *
 * The thread starts with the first job and ends with a job that takes too long; the next job starts another. Deno
 * cannot terminate a busy thread: there such a job continues next to the new thread, and jobs that may take as long
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
  /** The number of threads still working on jobs that took too long. */
  #leaving = 0
  #isServing = false
  /** The virtual start time of the job started last. An owner that was idle starts here, without credit. */
  #turn = 0

  constructor(options: SharedThreadOptions) {
    this.#options = options
  }

  /**
   * Resolves to the result of the job `name`, which equals that of `work`, or fails with its error. `size` is
   * approximately how many characters it reads. Fails with `NoTurn`, or with `JobTooLong` if it takes longer than
   * `maxMs` once started.
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

  /** Starting a thread is not the fault of the job's owner, so it does not count. */
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
