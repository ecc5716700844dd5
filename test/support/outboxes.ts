/** Runs a test grid's outboxes as the grid's worker does. First follows the log, then sends the due requests. */
import type { Store } from '../../src/store/store.ts'
import { type OutboxAttempts, Outboxes } from '../../src/worker/outboxes.ts'
import { followLog } from '../../src/worker/followers.ts'
import { follow } from './conversations.ts'

export class TestOutboxes extends Outboxes {
  readonly #store: Store
  readonly #ends: (() => Promise<void>)[]

  constructor(store: Store, attempts?: OutboxAttempts) {
    super(store, attempts)
    this.#store = store
    this.#ends = [follow(store), store.loop.perform({ ...super.duty, run: () => super.run() })]
  }

  override async run(): Promise<void> {
    await followLog(this.#store)
    await super.run()
  }

  override async stop(): Promise<void> {
    await Promise.all([super.stop(), ...this.#ends.map((end) => end())])
  }
}
