/**
 * Detects overload of this process: a request waited too long because its caller has too many other requests, or the
 * event loop is blocked. See docs/security.md, "Overload".
 */
import { GridError } from '../../errors.ts'
import type { Log } from '../log.ts'

/** How often the event loop delay is measured. */
const sampleMs = 250
/** This many consecutive samples change the state, so that a single slow call does not. */
const samplesToChange = 4
const retryAfterSeconds = 2

export class Overload {
  /** Above this delay, all requests are refused until the delay falls below half of this value. */
  readonly #aboveMs: number
  readonly #log: Log
  #isOverloaded = false
  /** The longest delay since the last sample, in milliseconds. */
  #longestMs = 0
  /** The number of consecutive samples that indicate the other state. */
  #against = 0
  #refused = 0
  #longestSinceTaken = 0

  constructor(log: Log, aboveMs = 3_000) {
    this.#aboveMs = aboveMs
    this.#log = log
  }

  /** Whether requests from all callers are refused. */
  get isOverloaded(): boolean {
    return this.#isOverloaded
  }

  /**
   * Fails with `unavailable` while the process is overloaded, or if a request waited too long. Call this before any
   * work for the request.
   */
  check(waitedMs = 0): void {
    if (this.#isOverloaded) {
      this.#refused++
      throw refusal('The grid is overloaded.')
    }
    if (waitedMs > this.#aboveMs) throw refusal('Too many of your calls are waiting.')
  }

  /** Measures event loop delays until the returned function is called. The delay is how late a timer fires. */
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

  report(ms: number): void {
    if (ms > this.#longestMs) this.#longestMs = ms
    if (ms > this.#longestSinceTaken) this.#longestSinceTaken = ms
  }

  /** Returns the longest delay in milliseconds since the last call. */
  takeLongestDelay(): number {
    const longest = this.#longestSinceTaken
    this.#longestSinceTaken = 0
    return longest
  }

  /** Evaluates the delays since the last sample. */
  sample(): void {
    const delayMs = this.#longestMs
    this.#longestMs = 0
    const isOpposite = this.#isOverloaded ? delayMs < this.#aboveMs / 2 : delayMs > this.#aboveMs
    this.#against = isOpposite ? this.#against + 1 : 0
    if (this.#against < samplesToChange) return
    this.#against = 0
    this.#isOverloaded = !this.#isOverloaded
    if (this.#isOverloaded) return this.#log.warn('The grid is overloaded; requests are refused', { delayMs })
    this.#log.info('The grid is no longer overloaded', { refused: this.#refused })
    this.#refused = 0
  }
}

function refusal(why: string): GridError {
  return new GridError('unavailable', `${why} Repeat the call in ${retryAfterSeconds} seconds.`, {
    retryAfterSeconds,
    notExecuted: true,
  })
}
