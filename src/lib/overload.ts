/**
 * Tells whether this process has more to do than it can: its requests are served late, because they wait for their
 * turn or because the event loop is blocked. See docs/security.md, "Overload".
 */
import { GridError } from '../errors.ts'
import type { Log } from './log.ts'

/** How often the delay is looked at. */
const sampleMs = 250
/** So many samples in a row change the state, so that one slow call does not. */
const samplesToChange = 4
const retryAfterSeconds = 2

export class Overload {
  /** The delay above which the process is overloaded. It no longer is when the delay is below a half of it. */
  readonly #aboveMs: number
  readonly #log: Log
  #isOverloaded = false
  /** The longest delay since the last sample. */
  #longestMs = 0
  /** How many samples in a row spoke for the other state. */
  #against = 0
  #refused = 0

  /** With `aboveMs` 0 it is never overloaded. */
  constructor(aboveMs: number, log: Log) {
    this.#aboveMs = aboveMs
    this.#log = log
  }

  get isOverloaded(): boolean {
    return this.#isOverloaded
  }

  /** A request waited this long until it was served. */
  report(ms: number): void {
    if (ms > this.#longestMs) this.#longestMs = ms
  }

  /** Fails with `unavailable` while the process is overloaded. Called before anything is done for a request. */
  check(): void {
    if (!this.#isOverloaded) return
    this.#refused++
    throw new GridError('unavailable', `The grid is overloaded. Repeat the call in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
      notExecuted: true,
    })
  }

  /** Measure the event loop until the returned function is called: a timer that fires late was held up by it. */
  watch(): () => void {
    let due = performance.now() + sampleMs
    const timer = setInterval(() => {
      const now = performance.now()
      this.report(now - due)
      due = now + sampleMs
      this.sample()
    }, sampleMs)
    return () => clearInterval(timer)
  }

  /** Judge the time since the last sample. */
  sample(): void {
    const delayMs = this.#longestMs
    this.#longestMs = 0
    if (this.#aboveMs === 0) return
    const isOpposite = this.#isOverloaded ? delayMs < this.#aboveMs / 2 : delayMs > this.#aboveMs
    this.#against = isOpposite ? this.#against + 1 : 0
    if (this.#against < samplesToChange) return
    this.#against = 0
    this.#isOverloaded = !this.#isOverloaded
    if (this.#isOverloaded) this.#log.warn('The grid is overloaded; requests are refused', { delayMs })
    else this.#log.info('The grid is no longer overloaded', { refused: this.#refused })
    this.#refused = 0
  }
}
