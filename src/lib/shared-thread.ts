/** One thread for the short jobs of many, who take turns by the time that their jobs took. */
import { clearTimeout, setTimeout } from 'node:timers'
import { RecentMap } from './recent-map.ts'
import { hasThreads, Thread, type ThreadProgram } from './run-on-thread.ts'

/** A job had no turn before its time to wait was over. It has done nothing. */
export class NoTurn extends Error {}

interface Job {
  /** Starts or refuses it. Never fails. */
  run(): Promise<void>
  /** When it is refused, because it has had no turn. */
  readonly timer: NodeJS.Timeout
}

/** The jobs of one owner. */
interface Lane {
  readonly jobs: Set<Job>
  /** Least goes first. It grows with the milliseconds that jobs of this owner take. */
  turn: number
  /** How long its last job took, in milliseconds. Of equals, the quicker one goes first. */
  lastMs: number
}

const mostLanes = 10_000

export interface SharedThreadOptions {
  program: ThreadProgram
  maxMegabytes: number
  /** How long a job waits for its turn at most. */
  maxWaitMs: number
}

/**
 * The thread starts with the first job and ends with a job that takes too long; the next one starts another. Deno cannot
 * end a thread that is busy: there such a job goes on next to the new thread until it is done.
 *
 * @see Goyal, Vin, Cheng: "Start-time fair queueing", 1996
 */
export class SharedThread {
  readonly #options: SharedThreadOptions
  readonly #lanes = new RecentMap<string, Lane>(mostLanes)
  readonly #waiting = new Set<Lane>()
  #thread: Thread | undefined
  #isServing = false
  /** The turn of the job that started last. An owner that was idle begins here, and has saved nothing up. */
  #turn = 0

  constructor(options: SharedThreadOptions) {
    this.#options = options
  }

  /**
   * Resolves to the result of the job `name`, which is the same as that of `work`, and fails with its error. Fails with
   * `NoTurn`, or with `JobTooLong` if it takes longer than `maxMs` once it has begun.
   */
  run<Input, Result>(
    owner: string,
    name: string,
    work: (input: Input) => Promise<Result>,
    input: Input,
    maxMs: number,
  ): Promise<Result> {
    if (!hasThreads) return work(input)
    return new Promise((resolve, reject) => {
      const lane = this.#laneOf(owner)
      const refuse = () => {
        if (lane.jobs.delete(job)) reject(new NoTurn('The job had no turn in time'))
      }
      const job = {
        run: () => this.#perform<Result>({ name, input }, maxMs).then(resolve, reject),
        timer: setTimeout(refuse, this.#options.maxWaitMs),
      }
      lane.jobs.add(job)
      this.#waiting.add(lane)
      if (!this.#isServing) void this.#serve()
    })
  }

  #laneOf(owner: string): Lane {
    let lane = this.#lanes.get(owner)
    if (!lane) this.#lanes.set(owner, lane = { jobs: new Set(), turn: 0, lastMs: 0 })
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
      const startedAt = performance.now()
      await job.run()
      lane.lastMs = performance.now() - startedAt
      lane.turn += lane.lastMs
    }
    this.#thread?.keepAlive(false)
    this.#isServing = false
  }

  #next(): Lane | undefined {
    let first: Lane | undefined
    for (const lane of this.#waiting) {
      if (lane.jobs.size === 0) this.#waiting.delete(lane)
      else if (!first || lane.turn < first.turn || (lane.turn === first.turn && lane.lastMs < first.lastMs)) {
        first = lane
      }
    }
    return first
  }

  async #perform<Result>(job: { name: string; input: unknown }, maxMs: number): Promise<Result> {
    const { program, maxMegabytes } = this.#options
    if (!this.#thread || this.#thread.hasEnded) this.#thread = await Thread.start(program, maxMegabytes)
    this.#thread.keepAlive(true)
    return await this.#thread.run<Result>(job, maxMs)
  }
}
