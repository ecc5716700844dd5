/** The outboxes of a test grid, as its worker drives them: what the log leads to is sent when it is due. */
import type { Store } from '../../src/store/store.ts'
import { type LineAttempts, RemoteLines } from '../../src/worker/remote-lines.ts'
import { followLog } from '../../src/worker/followers.ts'
import { follow } from './conversations.ts'

export class TestLines extends RemoteLines {
  readonly #store: Store
  readonly #ends: (() => Promise<void>)[]

  constructor(store: Store, attempts?: LineAttempts) {
    super(store, attempts)
    this.#store = store
    this.#ends = [follow(store), store.loop.perform({ name: 'outboxes', run: () => super.run() })]
  }

  override async run(): Promise<void> {
    await followLog(this.#store)
    await super.run()
  }

  override async stop(): Promise<void> {
    await Promise.all([super.stop(), ...this.#ends.map((end) => end())])
  }
}
