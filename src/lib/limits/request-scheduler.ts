/**
 * Schedules requests in the event loop.
 *
 * An iteration of the event loop that serves hundreds of busy connections takes as long as all of their requests. A new
 * connection must wait for this iteration. On Node it waits for many iterations, because Node accepts one connection
 * per iteration. Therefore, an iteration serves requests for a limited time, and the others wait here. Callers are
 * served round robin, one request each, so that a caller with many connections does not delay others.
 */
import process from 'node:process'
import { setImmediate, setTimeout } from 'node:timers'
import { FairQueue } from './fair-queue.ts'

/**
 * How long an iteration serves requests. It is not shorter, because requests that write in the same iteration share a
 * commit.
 */
const iterationMs = 8
/** Maximum number of waiting requests per caller. */
const maxWaiting = 4_000

interface WaitingRequest {
  since: number
  start(waitedMs: number): void
}

export class RequestScheduler {
  readonly #now: () => number
  /** The waiting requests by caller. */
  readonly #waiting = new FairQueue<WaitingRequest>()
  /** The time until which this iteration serves requests. Undefined if it has not served any yet. */
  #until: number | undefined
  #hasAccepted = false
  #isPaused = false

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  get callers(): number {
    return this.#waiting.keys
  }

  accepted(): void {
    this.#hasAccepted = true
  }

  /** Lets all requests wait until the returned function is called. */
  pause(): () => void {
    this.#isPaused = true
    return () => {
      this.#isPaused = false
      nextIteration(() => void this.#serveWaiting())
    }
  }

  /**
   * Resolves to the milliseconds that the caller's request has waited, as soon as it may be served. If too many
   * requests of the caller are already waiting, returns `Infinity`, and the request must be refused.
   */
  turn(caller: string): number | Promise<number> {
    const since = this.#now()
    if (this.#until === undefined && !this.#isPaused) {
      this.#until = since + iterationMs
      nextIteration(() => void this.#serveWaiting())
    }
    if (this.#waiting.size === 0 && !this.#isPaused && since < this.#until!) return 0
    if (this.#waiting.count(caller) >= maxWaiting) return Infinity
    return new Promise((start) => this.#waiting.add(caller, { since, start }))
  }

  /** Serves waiting requests. Runs once per iteration, after the iteration's new requests have been read. */
  async #serveWaiting(): Promise<void> {
    if (this.#isPaused) return
    // More connections may be waiting behind the accepted one, so serve only one request before the next connection.
    this.#until = this.#now() + (this.#hasAccepted ? 0 : iterationMs)
    this.#hasAccepted = false
    for (let next = this.#waiting.next(); next; next = this.#now() < this.#until ? this.#waiting.next() : undefined) {
      const [, { since, start }] = next
      start(this.#now() - since)
      // Continue after all work that the request does without waiting for I/O.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    if (this.#waiting.size > 0) nextIteration(() => void this.#serveWaiting())
    else this.#until = undefined
  }
}

/** Calls `run` after the event loop has polled the connections. On Deno, only timers run after that. */
export const nextIteration: (run: () => void) => void = 'Deno' in globalThis
  ? (run) => setTimeout(run, 0)
  : (run) => setImmediate(run)
