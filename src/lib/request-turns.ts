/**
 * Shares the turns of the event loop between requests and new connections.
 *
 * A turn in which hundreds of busy connections are served takes as long as all of their requests. A new connection
 * waits for it, on Node for many of them, because Node accepts one connection per turn. So a turn serves requests for a
 * limited time, and the others wait here. See docs/operations.md, "New connections under load".
 */
import process from 'node:process'
import { setImmediate } from 'node:timers'

/** For how long one turn serves requests. Requests that write in one turn share a commit, so it is not shorter. */
const turnMs = 15
/** For how long turns that accept a connection serve no waiting request: more may wait behind that connection. */
const acceptingMs = 25

export interface Waited {
  /** Told how long each request waited for its turn. */
  report(ms: number): void
}

interface Waiter {
  since: number
  start(): void
}

export class RequestTurns {
  readonly #waited: Waited | undefined
  /** The first requests of their connections. They take turns with the others, so that neither starve. */
  readonly #firsts = new Fifo<Waiter>()
  readonly #others = new Fifo<Waiter>()
  #isFirstsTurn = true
  /** Until when this turn serves requests. Undefined: it has served none yet. */
  #until: number | undefined
  #hasAccepted = false
  /** Until when connections go before waiting requests. */
  #acceptUntil = 0

  constructor(waited?: Waited) {
    this.#waited = waited
  }

  /** A connection was accepted. */
  accepted(): void {
    this.#hasAccepted = true
  }

  /** Undefined if a request may run now, otherwise a promise of its turn. `isFirst`: it is the first of its connection. */
  wait(isFirst: boolean): Promise<void> | undefined {
    const now = performance.now()
    if (this.#until === undefined) {
      this.#until = now + turnMs
      setImmediate(() => void this.#serveWaiting())
    }
    if (this.#nobodyWaits && now < this.#until) {
      this.#waited?.report(0)
      return undefined
    }
    return new Promise((start) => (isFirst ? this.#firsts : this.#others).push({ since: now, start }))
  }

  /** Runs once per turn, after its new requests have been read. */
  async #serveWaiting(): Promise<void> {
    const isAccepting = this.#hasAccepted && performance.now() < this.#acceptUntil
    this.#hasAccepted = false
    if (isAccepting) return this.#next()
    this.#until = performance.now() + turnMs
    for (let next = this.#shift(); next; next = performance.now() < this.#until ? this.#shift() : undefined) {
      this.#waited?.report(performance.now() - next.since)
      next.start()
      // Comes after all that the request does without waiting for something outside of the process.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    this.#acceptUntil = performance.now() + acceptingMs
    this.#next()
  }

  /** Come back in the next turn if requests wait. */
  #next(): void {
    if (this.#nobodyWaits) this.#until = undefined
    else setImmediate(() => void this.#serveWaiting())
  }

  get #nobodyWaits(): boolean {
    return this.#firsts.length === 0 && this.#others.length === 0
  }

  #shift(): Waiter | undefined {
    this.#isFirstsTurn = !this.#isFirstsTurn
    return this.#isFirstsTurn
      ? this.#firsts.shift() ?? this.#others.shift()
      : this.#others.shift() ?? this.#firsts.shift()
  }
}

/** A queue whose `shift` does not move all other elements. */
class Fifo<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined
    const item = this.#items[this.#head++]
    if (this.#head > 1_000 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }
}
