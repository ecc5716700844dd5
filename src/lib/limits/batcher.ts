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
 * Runs a key's items in batches. The first item runs immediately. Items that arrive within `everyMs` after it run
 * together. An item settles with its batch. A key's batches run one after the other.
 */
export class Batcher<Item> {
  readonly #lanes = new Map<string, Lane<Item>>()
  readonly #everyMs: number

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** Runs an item, possibly later and together with other items of its key. */
  add(key: string, item: Item, run: (items: Item[]) => Promise<void>): Promise<void> {
    const lane = this.#lanes.get(key) ?? { waiting: [], run }
    this.#lanes.set(key, lane)
    lane.run = run
    return new Promise((resolve, reject) => {
      lane.waiting.push({ item, resolve, reject })
      if (!lane.running && !lane.timer) this.#run(key, lane)
    })
  }

  /** Runs a key's waiting items now, and resolves when none are left. */
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
      // Set the timer even if no items wait, so that it removes the lane.
      lane.timer = setTimeout(() => this.#run(key, lane), Math.max(0, due - performance.now()))
    })
  }
}
