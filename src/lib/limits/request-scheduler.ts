/**
 * Decides when the event loop serves which request.
 *
 * An iteration of the event loop in which hundreds of busy connections are served takes as long as all of their
 * requests. A new connection waits for it, on Node for many of them, because Node accepts one connection per iteration.
 * So an iteration serves requests for a limited time, and the others wait here.
 * See docs/operations.md, "New connections under load".
 *
 * Callers are served round robin, one request each, so that one with many connections does not delay the others. All
 * strangers together are one caller beside the accounts. A request that was started goes on in later iterations, so a
 * caller beside others has a limited number of them in progress. See docs/security.md, "Scheduling of requests".
 */
import process from 'node:process'
import type { Caller } from '../http/caller.ts'
import { nextIteration } from '../next-iteration.ts'
import { SharedBudget } from './shared-budget.ts'

/** For how long an iteration serves requests. Requests that write in one of them share a commit, so it is not shorter. */
const iterationMs = 15
/** For how long iterations that accept a connection serve no waiting request: more may wait behind that connection. */
const acceptingMs = 25
/** How many requests a caller may have in progress beside others. A caller alone has no such limit. */
const defaultInProgress = 16
/** How many times as many a group of callers may have. */
const groupFactor = 4
/** After this time a request is not busy, but waits for something: it no longer counts as in progress. */
const busyMs = 500
/** A caller is alone if for this long no other had a request. */
const aloneMs = 1_000
/** How often callers that have too many requests in progress are looked at again. */
const sweepMs = 100
/** How many requests may wait. One caller alone has a half of them. */
const maxWaiting = 8_000

/** Told how long a request waited until it was started, if it had to wait. */
export interface DelayReport {
  report(ms: number, caller: string): void
}

export interface SchedulerOptions {
  delays?: DelayReport
  /** How many requests a caller may have in progress beside others. */
  maxInProgress?: number
  /** The clock, in milliseconds. */
  now?: () => number
}

/** A request in progress. */
export class Slot {
  readonly queue: Queue
  readonly since: number
  readonly #onRelease: (slot: Slot) => void

  constructor(queue: Queue, since: number, onRelease: (slot: Slot) => void) {
    this.queue = queue
    this.since = since
    this.#onRelease = onRelease
  }

  /** The request was answered, or waits for something outside of the process. May be called again. */
  release(): void {
    this.#onRelease(this)
  }
}

interface WaitingRequest {
  since: number
  start(slot: Slot): void
}

/** The requests of one caller. */
class Queue {
  readonly caller: Caller
  readonly parent: Group
  readonly waiting: WaitingRequest[] = []
  inProgress = 0

  constructor(caller: Caller, parent: Group) {
    this.caller = caller
    this.parent = parent
  }

  get isWaiting(): boolean {
    return this.waiting.length > 0
  }
}

/** Callers that share what one caller has. The root holds all callers and groups. */
class Group {
  readonly name: string
  readonly parent: Group | undefined
  /** Members with requests that wait and may start, in the order in which they are served. */
  readonly ready = new Set<Queue | Group>()
  /** Of all kinds. */
  members = 0
  inProgress = 0

  constructor(name: string, parent?: Group) {
    this.name = name
    this.parent = parent
  }

  get isWaiting(): boolean {
    return this.ready.size > 0
  }
}

export class RequestScheduler {
  readonly #delays: DelayReport | undefined
  readonly #maxInProgress: number
  readonly #now: () => number
  readonly #queues = new Map<string, Queue>()
  readonly #groups = new Map<string, Group>()
  readonly #root = new Group('')
  /** The oldest first. */
  readonly #inProgress = new Set<Slot>()
  readonly #waiting = new SharedBudget(maxWaiting, 1)
  /** Until when this iteration serves requests. Undefined: it has served none yet. */
  #until: number | undefined
  #hasAccepted = false
  /** Until when connections go before waiting requests. */
  #acceptUntil = 0
  #lastCaller: string | undefined
  /** Until when no caller is alone. */
  #sharedUntil = 0
  #sweep: ReturnType<typeof setTimeout> | undefined

  constructor(
    { delays, maxInProgress = defaultInProgress, now = () => performance.now() }: SchedulerOptions = {},
  ) {
    this.#delays = delays
    this.#maxInProgress = maxInProgress
    this.#now = now
  }

  /** How many callers have requests that wait or are in progress. */
  get callers(): number {
    return this.#queues.size
  }

  /** How many requests wait. */
  get waiting(): number {
    return this.#waiting.held
  }

  /** A connection was accepted. */
  accepted(): void {
    this.#hasAccepted = true
  }

  /** A slot for a request, at once or later. Undefined: too many wait already, and it must be refused. */
  take(caller: Caller): Slot | Promise<Slot> | undefined {
    const now = this.#now()
    const { name } = caller
    const queue = this.#queues.get(name) ?? this.#open(caller)
    if (this.#queues.size > 1 || name !== this.#lastCaller && this.#lastCaller !== undefined) {
      this.#sharedUntil = now + aloneMs
    }
    this.#lastCaller = name
    this.#beginIteration(now)
    if (!this.#root.isWaiting && now < this.#until! && this.#mayStart(queue, now)) return this.#start(queue, now)
    if (!this.#waiting.take(caller, 1)) return void this.#closeIfIdle(queue)
    return new Promise((start) => {
      queue.waiting.push({ since: now, start })
      this.#makeReady(queue, now)
    })
  }

  /** Runs once per iteration, after its new requests have been read. */
  async #serveWaiting(): Promise<void> {
    const isAccepting = this.#hasAccepted && this.#now() < this.#acceptUntil
    this.#hasAccepted = false
    if (isAccepting) return this.#next()
    this.#until = this.#now() + iterationMs
    for (let now = this.#now(); this.#root.isWaiting && now < this.#until; now = this.#now()) {
      this.#startNext(now)
      // Comes after all that the request does without waiting for something outside of the process.
      await new Promise<void>((resolve) => process.nextTick(resolve))
    }
    this.#acceptUntil = this.#now() + acceptingMs
    this.#next()
  }

  /** Come back in the next iteration if requests wait. */
  #next(): void {
    if (this.#root.isWaiting) nextIteration(() => void this.#serveWaiting())
    else this.#until = undefined
  }

  #beginIteration(now: number): void {
    if (this.#until !== undefined) return
    this.#until = now + iterationMs
    nextIteration(() => void this.#serveWaiting())
  }

  /** Start a request of the next caller. Its groups and it are then behind all others. */
  #startNext(now: number): void {
    let next: Queue | Group = this.#root
    while (next instanceof Group) {
      const [first]: Set<Queue | Group> = next.ready
      next.ready.delete(first)
      next = first
    }
    const { since, start } = next.waiting.shift()!
    this.#waiting.release(next.caller, 1)
    this.#delays?.report(now - since, next.caller.name)
    start(this.#start(next, now))
    this.#makeReady(next, now)
  }

  #start(queue: Queue, now: number): Slot {
    const slot = new Slot(queue, now, this.#end)
    this.#inProgress.add(slot)
    for (let node: Queue | Group | undefined = queue; node; node = node.parent) node.inProgress++
    return slot
  }

  readonly #end = (slot: Slot): void => {
    if (!this.#inProgress.delete(slot)) return
    const { queue } = slot
    for (let node: Queue | Group | undefined = queue; node; node = node.parent) node.inProgress--
    if (this.#waiting.held > 0) this.#makeReady(queue, this.#now())
    this.#closeIfIdle(queue)
  }

  /** What waits may start, unless too many requests of the caller or of a group of it are in progress. */
  #makeReady(queue: Queue, now: number): void {
    for (let node: Queue | Group = queue; node.parent; node = node.parent) {
      if (!node.isWaiting) continue
      if (this.#isBlocked(node, now)) this.#sweep ??= setTimeout(() => this.#endSlow(), sweepMs)
      else node.parent.ready.add(node)
    }
    if (this.#root.isWaiting) this.#beginIteration(now)
  }

  #mayStart(queue: Queue, now: number): boolean {
    for (let node: Queue | Group = queue; node.parent; node = node.parent) if (this.#isBlocked(node, now)) return false
    return true
  }

  #isBlocked(node: Queue | Group, now: number): boolean {
    const { inProgress } = node
    if (inProgress < this.#maxInProgress || now >= this.#sharedUntil) return false
    return node instanceof Queue || inProgress >= this.#maxInProgress * groupFactor
  }

  /** Callers that are alone now, or whose requests in progress are not busy, go on. */
  #endSlow(): void {
    this.#sweep = undefined
    const now = this.#now()
    for (const slot of this.#inProgress) {
      if (now - slot.since < busyMs) break
      slot.release()
    }
    for (const queue of this.#queues.values()) if (queue.isWaiting) this.#makeReady(queue, now)
  }

  #open(caller: Caller): Queue {
    let parent = this.#root
    for (const name of caller.groups) {
      let group = this.#groups.get(name)
      if (!group) {
        this.#groups.set(name, group = new Group(name, parent))
        parent.members++
      }
      parent = group
    }
    const queue = new Queue(caller, parent)
    parent.members++
    this.#queues.set(caller.name, queue)
    return queue
  }

  #closeIfIdle(queue: Queue): void {
    if (queue.inProgress > 0 || queue.isWaiting) return
    this.#queues.delete(queue.caller.name)
    for (let group: Group | undefined = queue.parent; group; group = group.parent) {
      if (--group.members > 0) return
      this.#groups.delete(group.name)
    }
  }
}
