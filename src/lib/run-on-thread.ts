/** Runs work that would block the event loop on a separate thread. */
import process from 'node:process'
import { clearTimeout, setImmediate, setTimeout } from 'node:timers'
import { Worker } from 'node:worker_threads'

/** The program that a thread loads: the part of `thread.ts` that contains its jobs. */
export type ThreadProgram = 'backup' | 'guardrails'

export interface ThreadJob {
  name: string
  input: unknown
}

/** A message from a thread. The thread sends `ready` once, and then one result per job. */
export type ThreadAnswer = 'ready' | { result: unknown } | { error: { message: string; code?: string } }

/** A thread's program is in the source folder, or next to the built program. */
const isSource = import.meta.url.endsWith('.ts')
const program = new URL(isSource ? '../thread.ts' : './thread.js', import.meta.url)
/** Whether threads exist. On Node, sources (tests, `npm run dev`) have none, and the caller does the work. */
export const hasThreads = !isSource || 'deno' in process.versions || 'bun' in process.versions

/** Whether a busy thread can be terminated, which Deno does not support. */
const endsBusyThreads = !('deno' in process.versions)

/** A job exceeded its time limit. */
export class JobTooLong extends Error {}

/** A thread that runs one job at a time. */
export class Thread {
  /** Whether the thread accepts no more jobs, because it failed or a job took too long. */
  hasEnded = false
  /** Resolves when the thread has stopped working after a job that took too long. */
  gone: Promise<unknown> = Promise.resolve()
  readonly #worker: Worker
  #answer: (answer: ThreadAnswer) => void = () => {}
  #fail: (error: Error) => void = () => {}

  private constructor(name: ThreadProgram, maxMegabytes: number | undefined, file: URL) {
    const resourceLimits = maxMegabytes === undefined ? undefined : { maxOldGenerationSizeMb: maxMegabytes }
    this.#worker = new Worker(file, { workerData: name, resourceLimits })
    const ended = (error: Error) => {
      this.hasEnded = true
      this.#fail(error)
    }
    this.#worker.on('message', (answer: ThreadAnswer) => this.#answer(answer))
    this.#worker.on('error', ended)
    this.#worker.on('exit', (code) => ended(new Error(`The thread has ended with code ${code}`)))
  }

  /** Resolves once the thread has loaded its program. */
  static async start(name: ThreadProgram, maxMegabytes?: number, file = program): Promise<Thread> {
    const thread = new Thread(name, maxMegabytes, file)
    await thread.#nextAnswer()
    return thread
  }

  /**
   * Resolves to a job's result, or fails with its error. After `maxMs`, fails with `JobTooLong` and ends the thread.
   */
  async run<Result>(job: ThreadJob, maxMs = Infinity): Promise<Result> {
    const answered = this.#nextAnswer()
    this.#worker.postMessage(job)
    let isDone = false
    const tooLong = () => {
      if (isDone) return
      this.#fail(new JobTooLong(`${job.name} took longer than ${maxMs} ms`))
      this.gone = this.#leave()
    }
    // `setImmediate` lets the thread's result be read first if it arrived while the main thread was busy.
    const timer = maxMs === Infinity ? undefined : setTimeout(() => setImmediate(tooLong), maxMs)
    try {
      const answer = await answered as Exclude<ThreadAnswer, 'ready'>
      if ('error' in answer) throw Object.assign(new Error(answer.error.message), { code: answer.error.code })
      return answer.result as Result
    } finally {
      isDone = true
      clearTimeout(timer)
    }
  }

  /** Sets whether the thread keeps the process alive. */
  keepAlive(isNeeded: boolean): void {
    if (isNeeded) this.#worker.ref()
    else this.#worker.unref()
  }

  async end(): Promise<void> {
    this.hasEnded = true
    await this.#worker.terminate()
  }

  async #leave(): Promise<void> {
    this.hasEnded = true
    if (!endsBusyThreads) {
      this.keepAlive(false)
      await this.#nextAnswer().catch(() => {})
    }
    await this.end()
  }

  #nextAnswer(): Promise<ThreadAnswer> {
    return new Promise((resolve, reject) => {
      this.#answer = resolve
      this.#fail = reject
    })
  }
}

/** Runs a backup job. Resolves to its result, which equals the result of `work`, or fails with its error. */
export async function runOnThread<Input, Result>(
  name: string,
  work: (input: Input) => Promise<Result>,
  input: Input,
): Promise<Result> {
  if (!hasThreads) return await work(input)
  const thread = await Thread.start('backup')
  try {
    return await thread.run<Result>({ name, input })
  } finally {
    await thread.end()
  }
}
