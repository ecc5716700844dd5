/**
 * Limits the number of concurrent tasks. A limited number may wait; further ones are rejected. Tasks with priority wait
 * in a separate queue: while tasks of both kinds wait, every second one that starts has priority, so neither kind can
 * starve the other.
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

  /** Settles as `task` does. Rejects with the error of `createError` if too many tasks of its kind are waiting. */
  async run<T>(task: () => Promise<T>, createError: () => Error, hasPriority = false): Promise<T> {
    if (this.#running >= this.#maxConcurrent) {
      const queue = hasPriority ? this.#prior : this.#ordinary
      if (queue.length >= this.#maxQueued) throw createError()
      // A finished task passes its permit to the next one in a queue, so a new task cannot overtake it.
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
