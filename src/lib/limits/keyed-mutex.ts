import { GridError } from '../../errors.ts'

interface Queue {
  /** Settles when the newest task has settled. */
  tail: Promise<unknown>
  length: number
}

/** Runs the tasks of one key one after the other. Tasks of different keys do not wait for each other. */
export class KeyedMutex {
  readonly #queues = new Map<string, Queue>()
  readonly #maxQueued: number

  /** `maxQueued`: how many tasks of one key may run or wait. */
  constructor(maxQueued: number) {
    this.#maxQueued = maxQueued
  }

  /**
   * Settles as `task` does, which runs after all earlier tasks of its key. Fails with `unavailable` if too many
   * wait.
   */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? { tail: Promise.resolve(), length: 0 }
    if (queue.length >= this.#maxQueued) {
      throw new GridError(
        'unavailable',
        'Too many changes of this account are in progress. Repeat the call in a moment.',
        { retryAfterSeconds: 1 },
      )
    }
    this.#queues.set(key, queue)
    queue.length++
    const result = queue.tail.then(task, task)
    queue.tail = result.catch(() => {})
    try {
      return await result
    } finally {
      queue.length--
      if (queue.length === 0) this.#queues.delete(key)
    }
  }
}
