/** Tasks and items under keys, such as the updates of one task: one after the other, or merged. */

/** Runs the tasks of one key one after the other, in the order of the calls. Those of other keys do not wait. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Settles as `task` does. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const running = (this.#last.get(key) ?? Promise.resolve()).then(task)
    const ended = running.catch(() => {})
    this.#last.set(key, ended)
    try {
      return await running
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}

interface Waiting<Item> {
  item: Item
  resolve(): void
  reject(error: unknown): void
}

interface Lane<Item> {
  waiting: Waiting<Item>[]
  run(items: Item[]): Promise<void>
  /** When the last run began, by a clock that does not stand still. */
  ranAt: number
  running?: Promise<void>
  timer?: ReturnType<typeof setTimeout>
}

/**
 * Merges what comes under one key too often: the first item runs at once, and those of the time after it run together.
 * An item is done when its run has succeeded, and fails as its run does. Runs of one key follow each other.
 */
export class Merged<Item> {
  readonly #lanes = new Map<string, Lane<Item>>()
  readonly #everyMs: number

  constructor(everyMs: number) {
    this.#everyMs = everyMs
  }

  /** Run an item, perhaps later and with others of its key. */
  add(key: string, item: Item, run: (items: Item[]) => Promise<void>): Promise<void> {
    const lane = this.#lanes.get(key) ?? { waiting: [], run, ranAt: -Infinity }
    this.#lanes.set(key, lane)
    lane.run = run
    return new Promise((resolve, reject) => {
      lane.waiting.push({ item, resolve, reject })
      this.#schedule(key, lane)
    })
  }

  /** Run what waits under a key now, and resolve when nothing does. */
  async flush(key: string): Promise<void> {
    for (let lane = this.#lanes.get(key); lane && (lane.running || lane.waiting.length > 0);) {
      if (!lane.running) this.#run(key, lane)
      await lane.running
      lane = this.#lanes.get(key)
    }
  }

  #schedule(key: string, lane: Lane<Item>): void {
    if (lane.running || lane.timer) return
    const ms = lane.ranAt + this.#everyMs - performance.now()
    if (ms <= 0) this.#run(key, lane)
    else lane.timer = setTimeout(() => this.#run(key, lane), ms)
  }

  #run(key: string, lane: Lane<Item>): void {
    clearTimeout(lane.timer)
    lane.timer = undefined
    const items = lane.waiting.splice(0)
    if (items.length === 0) return void this.#lanes.delete(key)
    lane.ranAt = performance.now()
    lane.running = lane.run(items.map(({ item }) => item)).then(
      () => items.forEach(({ resolve }) => resolve()),
      (error) => items.forEach(({ reject }) => reject(error)),
    ).finally(() => {
      lane.running = undefined
      // Also without anything that waits: then the lane is removed when its time is over.
      lane.timer = setTimeout(() => this.#run(key, lane), Math.max(0, lane.ranAt + this.#everyMs - performance.now()))
    })
  }
}
