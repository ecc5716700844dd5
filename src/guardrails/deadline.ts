/** The time that all checks of a message may take together. */
import { clearTimeout, setTimeout } from 'node:timers'

/** A time from now. Its signal, with a timer, is made when it is first asked for: local checks need none. */
export class Deadline {
  readonly #at: number
  #controller?: AbortController
  #timer?: ReturnType<typeof setTimeout>

  constructor(ms: number) {
    this.#at = performance.now() + ms
  }

  /** Aborted when the time has come. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = this.#controller = new AbortController()
      this.#timer = setTimeout(() => controller.abort(), Math.max(0, this.#at - performance.now()))
    }
    return this.#controller.signal
  }

  /** Whether the time has come. */
  get hasPassed(): boolean {
    return this.#controller?.signal.aborted ?? false
  }

  /** Forget it: nothing will be aborted. */
  cancel(): void {
    clearTimeout(this.#timer)
  }
}
