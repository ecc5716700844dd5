/**
 * Limits the number of concurrent tasks. A limited number may wait; further tasks are rejected. Tasks with priority
 * wait in a separate queue. While both queues contain tasks, every second task that starts has priority, so neither
 * queue can starve the other.
 */
export class Semaphore {
  readonly #maxConcurrent: number
  readonly #maxQueued: number
  readonly #ordinary: (() => void)[] = []
  readonly #prior: (() => void)[] = []
  #running = 0
  #wasPrior = false

  /** `maxQueued` applies to each of the two queues. */
  constructor(limits: { maxConcurrent: number; maxQueued: number }) {
    this.#maxConcurrent = limits.maxConcurrent
    this.#maxQueued = limits.maxQueued
  }

  /** Runs `task` and settles like it. Rejects with the error of `createError` if its queue is full. */
  async run<T>(task: () => Promise<T>, createError: () => Error, hasPriority = false): Promise<T> {
    if (this.#running >= this.#maxConcurrent) {
      const queue = hasPriority ? this.#prior : this.#ordinary
      if (queue.length >= this.#maxQueued) throw createError()
      // A finished task passes its permit to the next task in a queue, so a new task cannot overtake the waiting ones.
      await new Promise<void>((resolve) => queue.push(resolve))
    } else this.#running++
    try {
      return await task()
    } finally {
      const next = this.#takeNext()
      if (next) next()
      else this.#running--
    }
  }

  #takeNext(): (() => void) | undefined {
    this.#wasPrior = this.#prior.length > 0 && (!this.#wasPrior || this.#ordinary.length === 0)
    return (this.#wasPrior ? this.#prior : this.#ordinary).shift()
  }
}
