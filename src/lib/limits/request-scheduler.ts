/**
 * Decides when the event loop serves which request.
 *
 * An iteration of the event loop in which hundreds of busy connections are served takes as long as all of their
 * requests. A new connection waits for it, on Node for many of them, because Node accepts one connection per iteration.
 * So an iteration serves requests for a limited time, and the others wait here. Callers take turns, with one request
 * each, so that one with many connections does not delay the others.
 */
import process from 'node:process'
import { setImmediate, setTimeout } from 'node:timers'
import { FairQueue } from './fair-queue.ts'

/** For how long an iteration serves requests. Requests that write in one of them share a commit, so it is not shorter. */
const iterationMs = 8
/** How many requests of one caller may wait. */
const maxWaiting = 4_000

interface WaitingRequest {
  since: number
  start(waitedMs: number): void
}

export class RequestScheduler {
  readonly #now: () => number
  /** By caller. */
  readonly #waiting = new FairQueue<WaitingRequest>()
  /** Until when this iteration serves requests. Undefined: it has served none yet. */
  #until: number | undefined
  #hasAccepted = false

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  get callers(): number {
    return this.#waiting.keys
  }

  accepted(): void {
    this.#hasAccepted = true
  }

  /**
   * It is the turn of a request of this caller, at once or later: for how long it waited. `Infinity` if too many wait
   * already: then it must be refused.
   */
  turn(caller: string): number | Promise<number> {
    const since = this.#now()
    if (this.#until === undefined) {
      this.#until = since + iterationMs
      nextIteration(() => void this.#serveWaiting())
    }
    if (this.#waiting.size === 0 && since < this.#until) return 0
    if (this.#waiting.count(caller) >= maxWaiting) return Infinity
    return new Promise((start) => this.#waiting.add(caller, { since, start }))
  }

  /** Runs once per iteration, after its new requests have been read. */
  async #serveWaiting(): Promise<void> {
    // More connections may wait behind one that was accepted, so only one request is served before the next of them.
    this.#until = this.#now() + (this.#hasAccepted ? 0 : iterationMs)
    this.#hasAccepted = false
    for (let next = this.#waiting.next(); next; next = this.#now() < this.#until ? this.#waiting.next() : undefined) {
      const [, { since, start }] = next
      start(this.#now() - since)
      // Runs after everything that the request does without waiting for I/O.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    if (this.#waiting.size > 0) nextIteration(() => void this.#serveWaiting())
    else this.#until = undefined
  }
}

/** Calls `run` once the event loop has looked at the connections. On Deno it does so for timers only. */
export const nextIteration: (run: () => void) => void = 'Deno' in globalThis
  ? (run) => setTimeout(run, 0)
  : (run) => setImmediate(run)
