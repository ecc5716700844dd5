/** What a newcomer does, step by step, and how long each takes. */

export interface Step {
  what: string
  seconds: number
}

/** The steps of one way, in order. */
export class Steps {
  readonly all: Step[] = []

  /** Do a step. It counts also if it fails. */
  async take<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
    const startedAt = performance.now()
    try {
      return await run()
    } finally {
      this.all.push({ what, seconds: (performance.now() - startedAt) / 1_000 })
    }
  }

  get seconds(): number {
    return this.all.reduce((sum, { seconds }) => sum + seconds, 0)
  }
}
