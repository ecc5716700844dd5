/**
 * Tells whether there is more to do than this process can: the requests of a caller are served late because too
 * many wait, or those of all callers because the event loop is blocked. See docs/security.md, "Overload".
 */
import { GridError } from '../../errors.ts'
import type { Log } from '../log.ts'

/** How often the delay is looked at. */
const sampleMs = 250
/** So many samples in a row change the state, so that one slow call does not. */
const samplesToChange = 4
const retryAfterSeconds = 2

export class Overload {
  /** The delay above which requests are refused. They no longer are when the delay is below a half of it. */
  readonly #aboveMs: number
  readonly #log: Log
  /** Delays of all requests. */
  readonly #process = new Delays()
  /** Delays of the requests of one caller. Those whose requests do not wait for long have none. */
  readonly #callers = new Map<string, Delays>()

  /** With `aboveMs` 0 nothing is refused. */
  constructor(aboveMs: number, log: Log) {
    this.#aboveMs = aboveMs
    this.#log = log
  }

  /** Whether the requests of all callers are refused. */
  get isOverloaded(): boolean {
    return this.#process.isTooLong
  }

  /** A request of `caller`, or without one any request, waited this long until it was served. */
  report(ms: number, caller?: string): void {
    if (caller === undefined) return this.#process.report(ms)
    let delays = this.#callers.get(caller)
    if (!delays) {
      // A flood of callers that are served in time costs no memory.
      if (ms < this.#aboveMs / 2 || this.#aboveMs === 0) return
      this.#callers.set(caller, delays = new Delays())
    }
    delays.report(ms)
  }

  /**
   * Fails with `unavailable` while the requests of this caller, or of all, are served too late. Called before anything
   * is done for a request.
   */
  check(caller?: string): void {
    if (this.#process.isTooLong) throw this.#process.refuse('The grid is overloaded.')
    if (this.#callers.size === 0 || caller === undefined) return
    const delays = this.#callers.get(caller)
    if (delays?.isTooLong) throw delays.refuse('Too many of your calls wait.')
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
    if (this.#aboveMs === 0) return
    const changed = this.#process.sample(this.#aboveMs)
    if (changed?.isTooLong) {
      this.#log.warn('The grid is overloaded; requests are refused', { delayMs: changed.delayMs })
    } else if (changed) this.#log.info('The grid is no longer overloaded', { refused: changed.refused })
    for (const [caller, delays] of this.#callers) {
      const change = delays.sample(this.#aboveMs)
      if (change?.isTooLong) {
        this.#log.warn('A caller has too many calls waiting; they are refused', { caller, delayMs: change.delayMs })
      } else if (change) this.#log.info('The calls of a caller are served again', { caller, refused: change.refused })
      if (delays.isOver) this.#callers.delete(caller)
    }
  }
}

/** How a judgement changed: with the delay that was too long, or with the requests that were refused meanwhile. */
type Change = { isTooLong: true; delayMs: number } | { isTooLong: false; refused: number }

/** The delays of some requests, and whether they are too long. */
class Delays {
  isTooLong = false
  /** The longest delay since the last sample. */
  #longestMs = 0
  /** How many samples in a row spoke for the other state. */
  #against = 0
  #refused = 0

  /** Nothing speaks for delays that are too long. */
  get isOver(): boolean {
    return !this.isTooLong && this.#against === 0
  }

  report(ms: number): void {
    if (ms > this.#longestMs) this.#longestMs = ms
  }

  refuse(why: string): GridError {
    this.#refused++
    return new GridError('unavailable', `${why} Repeat the call in ${retryAfterSeconds} seconds.`, {
      retryAfterSeconds,
      notExecuted: true,
    })
  }

  /** Judge the delays since the last sample. Undefined: nothing changed. */
  sample(aboveMs: number): Change | undefined {
    const delayMs = this.#longestMs
    this.#longestMs = 0
    const isOpposite = this.isTooLong ? delayMs < aboveMs / 2 : delayMs > aboveMs
    this.#against = isOpposite ? this.#against + 1 : 0
    if (this.#against < samplesToChange) return undefined
    this.#against = 0
    this.isTooLong = !this.isTooLong
    if (this.isTooLong) return { isTooLong: true, delayMs }
    const refused = this.#refused
    this.#refused = 0
    return { isTooLong: false, refused }
  }
}
