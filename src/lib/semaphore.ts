/** A few tasks at once; some more wait for their turn, and whoever comes then is turned away. */
export class Gate {
  readonly #atOnce: number
  readonly #maxWaiting: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(limits: { atOnce: number; maxWaiting: number }) {
    this.#atOnce = limits.atOnce
    this.#maxWaiting = limits.maxWaiting
  }

  /** Resolves or rejects as `task` does; rejects with what `refuse` makes when too many wait. */
  async run<T>(task: () => Promise<T>, refuse: () => Error): Promise<T> {
    if (this.#running >= this.#atOnce) {
      if (this.#waiting.length >= this.#maxWaiting) throw refuse()
      // Whoever leaves hands the place on, so that nobody slips in between.
      await new Promise<void>((enter) => this.#waiting.push(enter))
    } else this.#running++
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
