/** Follows the log of messages for the pages of people. See docs/architecture.md, "Projections". */
import { isStorageFull } from '../errors.ts'
import { Repeated } from '../lib/repeated.ts'
import { second } from '../lib/time.ts'
import type { Store } from '../store/store.ts'

/** How many messages one unit takes in, or empties. Others are served between two units. */
const unitSize = 500
/** How long a message waits for others, so that one unit takes in many of them. */
const delayMs = 40
/** From so many messages on, the log tells of the progress, and how often. */
const manyMessages = 10_000
const progressMs = 10 * second

/**
 * Take in everything that is stored. Several processes may do this at the same time. `isStopped` ends it early, between
 * two units.
 */
export async function followLog(store: Store, isStopped = () => false): Promise<void> {
  while (!isStopped() && await followSome(store)) { /* There is more. */ }
}

/** Commit one unit, if there is anything to take in. Resolves to whether there may be more. */
async function followSome(store: Store): Promise<boolean> {
  const { threadProjection } = store.global
  const { seq, newest } = await threadProjection.position()
  store.projection.behind = Math.max(0, newest - Math.max(0, seq))
  if (seq < 0) await store.write(threadProjection.empty(unitSize))
  else if (seq < newest) await store.write(threadProjection.follow(unitSize))
  return seq < newest || seq < 0
}

/**
 * Runs soon after each message that this process stores or hears of. Messages whose process was killed before it took
 * them in are found by `run`, which the worker calls now and then.
 */
export class LogFollower {
  readonly #store: Store
  readonly #repeated: Repeated
  readonly #unsubscribe: () => void
  #running: Promise<void> = Promise.resolve()
  #isStopped = false
  /** When the log last told of the progress, while there is a lot to do. */
  #toldAt: number | undefined

  constructor(store: Store) {
    this.#store = store
    this.#repeated = new Repeated(() => this.#step(), delayMs)
    this.#unsubscribe = store.waiting.notifier.onEach(() => this.#repeated.schedule())
  }

  run(): Promise<void> {
    this.#repeated.schedule()
    return Promise.resolve()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#unsubscribe()
    this.#repeated.close()
    await this.#running
  }

  #step(): Promise<boolean> {
    const step = this.#isStopped ? Promise.resolve(false) : followSome(this.#store)
    const caught = step.catch((error) => {
      // The storage has said so. In any case it is tried again, with the next message or after a while.
      if (!isStorageFull(error)) this.#store.deps.log.warn('New messages were not placed in conversations', { error })
      return false
    })
    this.#running = caught.then(() => this.#tell())
    return caught
  }

  #tell(): void {
    const { projection: { behind }, deps: { log } } = this.#store
    const now = performance.now()
    if (this.#toldAt === undefined ? behind >= manyMessages : behind > 0 && now - this.#toldAt >= progressMs) {
      log.info('Stored messages are being placed in conversations', { left: behind })
      this.#toldAt = now
    } else if (this.#toldAt !== undefined && behind === 0) {
      log.info('All stored messages are placed in conversations')
      this.#toldAt = undefined
    }
  }
}
