/**
 * Shares the turns of the event loop between requests and new connections, and between callers.
 *
 * A turn in which hundreds of busy connections are served takes as long as all of their requests. A new connection
 * waits for it, on Node for many of them, because Node accepts one connection per turn. So a turn serves requests for a
 * limited time, and the others wait here. See docs/operations.md, "New connections under load".
 *
 * Callers take turns, one request each, so that one with many connections does not delay the others. A request that was
 * started goes on in later turns. So a caller beside others has a limited number of them in progress.
 * See docs/security.md, "Taking turns".
 */
import process from 'node:process'
import { setImmediate } from 'node:timers'

/** For how long one turn serves requests. Requests that write in one turn share a commit, so it is not shorter. */
const turnMs = 15
/** For how long turns that accept a connection serve no waiting request: more may wait behind that connection. */
const acceptingMs = 25
/** How many requests a caller may have in progress beside others. A caller alone has no such limit. */
const maxInProgress = 16
/** After this time a request is not busy, but waits for something: it no longer counts as in progress. */
const busyMs = 500
/** A caller is alone if for this long no other had a request. */
const aloneMs = 1_000
/** How often callers that have too many requests in progress are looked at again. */
const sweepMs = 100

export interface Waited {
  /** Told how long a request that had to wait for its turn did so. */
  report(ms: number, caller: string): void
}

/** The turn of a request. Whoever got it ends it when the request has its answer. */
export interface Turn {
  end(): void
}

interface Waiter {
  since: number
  start(turn: Turn): void
}

/** A caller with requests that wait or are in progress. */
class Caller {
  readonly name: string
  /** When the requests in progress were started, the oldest first. */
  readonly inProgress = new Map<Turn, number>()
  /** The first requests of their connections. They take turns with the others, so that neither starve. */
  readonly #firsts = new Fifo<Waiter>()
  readonly #others = new Fifo<Waiter>()
  #isFirstsTurn = true

  constructor(name: string) {
    this.name = name
  }

  get isWaiting(): boolean {
    return this.#firsts.length > 0 || this.#others.length > 0
  }

  push(isFirst: boolean, waiter: Waiter): void {
    ;(isFirst ? this.#firsts : this.#others).push(waiter)
  }

  shift(): Waiter | undefined {
    this.#isFirstsTurn = !this.#isFirstsTurn
    return this.#isFirstsTurn
      ? this.#firsts.shift() ?? this.#others.shift()
      : this.#others.shift() ?? this.#firsts.shift()
  }
}

export class RequestTurns {
  readonly #waited: Waited | undefined
  readonly #callers = new Map<string, Caller>()
  /** Callers whose requests wait and may start, in the order of their turns. */
  readonly #ready = new Set<Caller>()
  /** Until when this turn serves requests. Undefined: it has served none yet. */
  #until: number | undefined
  #hasAccepted = false
  /** Until when connections go before waiting requests. */
  #acceptUntil = 0
  #lastCaller: string | undefined
  /** Until when no caller is alone. */
  #sharedUntil = 0
  #sweep: ReturnType<typeof setInterval> | undefined

  constructor(waited?: Waited) {
    this.#waited = waited
  }

  /** A connection was accepted. */
  accepted(): void {
    this.#hasAccepted = true
  }

  /** The turn of a request, at once or later. `isFirst`: it is the first of its connection. */
  take(isFirst: boolean, name: string): Turn | Promise<Turn> {
    const now = performance.now()
    let caller = this.#callers.get(name)
    if (!caller) this.#callers.set(name, caller = new Caller(name))
    if (this.#callers.size > 1 || name !== this.#lastCaller && this.#lastCaller !== undefined) {
      this.#sharedUntil = now + aloneMs
    }
    this.#lastCaller = name
    this.#serveThisTurn(now)
    if (this.#ready.size === 0 && now < this.#until! && !this.#isBlocked(caller, now)) return this.#start(caller, now)
    return new Promise((start) => {
      caller.push(isFirst, { since: now, start })
      this.#queue(caller, now)
    })
  }

  /** Runs once per turn, after its new requests have been read. */
  async #serveWaiting(): Promise<void> {
    const isAccepting = this.#hasAccepted && performance.now() < this.#acceptUntil
    this.#hasAccepted = false
    if (isAccepting) return this.#next()
    this.#until = performance.now() + turnMs
    for (let now = performance.now(); this.#ready.size > 0 && now < this.#until; now = performance.now()) {
      this.#startNext(now)
      // Comes after all that the request does without waiting for something outside of the process.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    this.#acceptUntil = performance.now() + acceptingMs
    this.#next()
  }

  /** Come back in the next turn if requests wait. */
  #next(): void {
    if (this.#ready.size === 0) this.#until = undefined
    else setImmediate(() => void this.#serveWaiting())
  }

  #serveThisTurn(now: number): void {
    if (this.#until !== undefined) return
    this.#until = now + turnMs
    setImmediate(() => void this.#serveWaiting())
  }

  /** Start a request of the caller whose turn it is. */
  #startNext(now: number): void {
    const [caller] = this.#ready
    const { since, start } = caller.shift()!
    this.#waited?.report(now - since, caller.name)
    start(this.#start(caller, now))
    // Behind all others.
    this.#ready.delete(caller)
    this.#queue(caller, now)
  }

  #start(caller: Caller, now: number): Turn {
    const turn = { end: () => this.#end(caller, turn) }
    caller.inProgress.set(turn, now)
    return turn
  }

  #end(caller: Caller, turn: Turn): void {
    caller.inProgress.delete(turn)
    if (caller.isWaiting) this.#queue(caller, performance.now())
    else if (caller.inProgress.size === 0) this.#callers.delete(caller.name)
  }

  /** The requests of a caller get their turns, unless too many are in progress. */
  #queue(caller: Caller, now: number): void {
    if (!caller.isWaiting || this.#ready.has(caller)) return
    if (this.#isBlocked(caller, now)) {
      this.#sweep ??= setInterval(() => this.#unblock(), sweepMs)
      return
    }
    this.#ready.add(caller)
    this.#serveThisTurn(now)
  }

  #isBlocked({ inProgress }: Caller, now: number): boolean {
    return inProgress.size >= maxInProgress && now < this.#sharedUntil
  }

  /** Callers that are alone now, or whose requests in progress are not busy, go on. */
  #unblock(): void {
    const now = performance.now()
    const blocked = [...this.#callers.values()].filter((caller) => caller.isWaiting && !this.#ready.has(caller))
    for (const caller of blocked) {
      for (const [turn, since] of caller.inProgress) {
        if (now - since < busyMs) break
        caller.inProgress.delete(turn)
      }
      this.#queue(caller, now)
    }
    if (blocked.length > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
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
