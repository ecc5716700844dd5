/** Runs tasks with the same key one at a time, in call order. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs `task` when its key's earlier tasks have settled. Settles like `task`. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const running = (this.#last.get(key) ?? Promise.resolve()).then(task)
    const ended = running.catch(() => {})
    this.#last.set(key, ended)
    try {
      return await running
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}
