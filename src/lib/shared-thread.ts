/** One thread for the short jobs of many, who take turns by the time that their jobs took. */
import { clearTimeout, setTimeout } from 'node:timers'
import { LruMap } from './lru-map.ts'
import { hasThreads, JobTooLong, Thread, type ThreadProgram } from './run-on-thread.ts'

/** A job had no turn before its time to wait was over. It has done nothing. */
export class NoTurn extends Error {}

interface Job {
  /** In characters. */
  readonly size: number
  /** Resolves to how many milliseconds the thread worked on it. Never fails. */
  run(): Promise<number>
  /** When it is refused, because it has had no turn. */
  readonly timer: NodeJS.Timeout
}

/** The jobs of one owner. */
interface Lane {
  readonly jobs: Set<Job>
  /** It grows with the milliseconds that jobs of this owner take. */
  turn: number
  /** How long its jobs took lately, in milliseconds, and each character of its last large job. */
  recentMs: number
  characterMs: number
  /** Its last job took too long. */
  isTooLong: boolean
}

const mostLanes = 10_000
/** Of an owner that is not known yet: such expressions are expected that take longest. */
const unknownCharacterMs = .005
/** Smaller jobs do not say how long a character takes. */
const largeJob = 10_000
/** After so much of a job, the next thread is started, because this one may have to end. */
const longJobMs = 300

export interface SharedThreadOptions {
  program: ThreadProgram
  maxMegabytes: number
  /** How long a job waits for its turn at most. */
  maxWaitMs: number
  /** Builds the program, where Node runs sources and would have no thread (tests). */
  build?: () => Promise<URL>
}

/**
 * The job goes first that is expected to end first, if each owner had a thread of the same share. So one that takes
 * long keeps nobody waiting whose jobs are quick, however many owners have such.
 *
 * The thread starts with the first job and ends with a job that takes too long; the next one starts another. Deno cannot
 * end a thread that is busy: there such a job goes on next to the new thread, and what may take as long waits until it is done.
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
  /** How many threads still work on jobs that took too long. */
  #leaving = 0
  #isServing = false
  /** The turn of the job that started last. An owner that was idle begins here, and has saved nothing up. */
  #turn = 0

  constructor(options: SharedThreadOptions) {
    this.#options = options
  }

  /**
   * Resolves to the result of the job `name`, which is the same as that of `work`, and fails with its error. `size` is about
   * how many characters it reads. Fails with `NoTurn`, or with `JobTooLong` if it takes longer than `maxMs` once it has begun.
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

  /** A thread that has to start is not the fault of the owner of the job, so the start does not count. */
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
    // It fails for the job that needs it.
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
