/** Runs the tasks of one key one after the other; keys do not wait for each other. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Resolves or rejects as `task` does, once those before it have settled. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const mine = before.then(task, task)
    const settled = mine.catch(() => {}).then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key)
    })
    this.#last.set(key, settled)
    return mine
  }
}
