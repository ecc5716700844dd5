/** Limits how many tasks run at a time. Some more may wait; further ones are rejected. */
export class Semaphore {
  readonly #maxConcurrent: number
  readonly #maxQueued: number
  readonly #queue: (() => void)[] = []
  #running = 0

  constructor(limits: { maxConcurrent: number; maxQueued: number }) {
    this.#maxConcurrent = limits.maxConcurrent
    this.#maxQueued = limits.maxQueued
  }

  /** Settles as `task` does. Rejects with the error of `createError` if too many tasks wait. */
  async run<T>(task: () => Promise<T>, createError: () => Error): Promise<T> {
    if (this.#running >= this.#maxConcurrent) {
      if (this.#queue.length >= this.#maxQueued) throw createError()
      // A task that ends passes its permit to the next one in the queue, so a new task cannot overtake it.
      await new Promise<void>((resolve) => this.#queue.push(resolve))
    } else this.#running++
    try {
      return await task()
    } finally {
      const next = this.#queue.shift()
      if (next) next()
      else this.#running--
    }
  }
}
