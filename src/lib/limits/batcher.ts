interface Waiting<Item> {
  item: Item
  resolve(): void
  reject(error: unknown): void
}

interface Lane<Item> {
  waiting: Waiting<Item>[]
  run(items: Item[]): Promise<void>
  running?: Promise<void>
  timer?: ReturnType<typeof setTimeout>
}

/**
 * Runs a key's items in batches: the first item at once, and those added within `everyMs` in one batch. An item settles
 * when its batch does. A key's batches run one after another.
 */
export class Batcher<Item> {
  readonly #lanes = new Map<string, Lane<Item>>()
  readonly #everyMs: number

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** Runs an item, possibly later and together with others of its key. */
  add(key: string, item: Item, run: (items: Item[]) => Promise<void>): Promise<void> {
    const lane = this.#lanes.get(key) ?? { waiting: [], run }
    this.#lanes.set(key, lane)
    lane.run = run
    return new Promise((resolve, reject) => {
      lane.waiting.push({ item, resolve, reject })
      if (!lane.running && !lane.timer) this.#run(key, lane)
    })
  }

  /** Runs a key's waiting items now, and resolves when none remain. */
  async flush(key: string): Promise<void> {
    for (let lane = this.#lanes.get(key); lane && (lane.running || lane.waiting.length > 0);) {
      if (!lane.running) this.#run(key, lane)
      await lane.running
      lane = this.#lanes.get(key)
    }
  }

  #run(key: string, lane: Lane<Item>): void {
    clearTimeout(lane.timer)
    lane.timer = undefined
    const items = lane.waiting.splice(0)
    if (items.length === 0) return void this.#lanes.delete(key)
    const due = performance.now() + this.#everyMs
    lane.running = lane.run(items.map(({ item }) => item)).then(
      () => items.forEach(({ resolve }) => resolve()),
      (error) => items.forEach(({ reject }) => reject(error)),
    ).finally(() => {
      lane.running = undefined
      // Set even if nothing waits, so that the lane is removed when its time is over.
      lane.timer = setTimeout(() => this.#run(key, lane), Math.max(0, due - performance.now()))
    })
  }
}
