import { clearTimeout, setTimeout } from 'node:timers'

/** Work that runs a while after it was asked for, once for all who asked until then. Runs follow each other. */
export class Debounced {
  readonly #work: () => Promise<boolean>
  readonly #afterMs: number
  #timer: ReturnType<typeof setTimeout> | undefined
  #lastRun: Promise<void> = Promise.resolve()
  #runs = 0
  #isDue = false
  #isClosed = false

  /** `work` resolves to whether to work again after the same time. It must not fail. */
  constructor(work: () => Promise<boolean>, afterMs: number) {
    this.#work = work
    this.#afterMs = afterMs
  }

  /** Run once the time is over. During a run the time begins when it ends. */
  schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return
    if (this.#runs > 0) this.#isDue = true
    else this.#timer = setTimeout(() => void this.run(), this.#afterMs).unref()
  }

  /** Run now, or as soon as the present run has ended. */
  run(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#runs++
    return this.#lastRun = this.#lastRun.then(async () => {
      const isAgain = await this.#work().finally(() => this.#runs--)
      if (!isAgain && !this.#isDue) return
      this.#isDue = false
      this.schedule()
    })
  }

  /** No run begins later by itself. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }
}
