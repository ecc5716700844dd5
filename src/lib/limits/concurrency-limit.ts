/** The limit that was reached: the key's, the account's or the process's. */
export interface Reached {
  by: 'key' | 'account' | 'grid'
  quota: number
}

/** A concurrency limit for the keys of one group. */
export type GroupLimit = ReturnType<ConcurrencyLimit['of']>

/** Limits how many slots one key, one group of keys, and all keys in total may hold at a time. */
export class ConcurrencyLimit {
  /** The functions that evict each key's slots, oldest first. */
  readonly #slots = new Map<string, (() => void)[]>()
  /** How many slots the keys of each group hold. */
  readonly #groups = new Map<string, number>()
  readonly #perKey: number
  readonly #perGroup: number
  readonly #total: number
  #count = 0

  constructor(limits: { perKey: number; perGroup: number; total: number }) {
    this.#perKey = limits.perKey
    this.#perGroup = limits.perGroup
    this.#total = limits.total
  }

  get count(): number {
    return this.#count
  }

  /** Returns the limit that would make `acquire` fail. Undefined if it would succeed. */
  reached(key: string, group: string): Reached | undefined {
    return this.#slotsOf(key).length >= this.#perKey ? { by: 'key', quota: this.#perKey } : this.#full(group)
  }

  /** Takes a slot and returns the function that releases it. Undefined if a limit is reached. */
  acquire(key: string, group: string): (() => void) | undefined {
    return this.reached(key, group) ? undefined : this.#add(key, group, () => {})
  }

  /** Like `acquire`, but at the key's limit it first evicts the key's oldest slot and calls its `onEvicted`. */
  acquireOrEvictOldest(key: string, group: string, onEvicted: () => void): (() => void) | undefined {
    const slots = this.#slotsOf(key)
    if (slots.length >= this.#perKey) slots[0]()
    return this.#full(group) ? undefined : this.#add(key, group, onEvicted)
  }

  /** Returns the same methods, for the keys of one group. */
  of(group: string) {
    return {
      reached: (key: string) => this.reached(key, group),
      acquire: (key: string) => this.acquire(key, group),
      acquireOrEvictOldest: (key: string, onEvicted: () => void) => this.acquireOrEvictOldest(key, group, onEvicted),
    }
  }

  #full(group: string): Reached | undefined {
    if ((this.#groups.get(group) ?? 0) >= this.#perGroup) return { by: 'account', quota: this.#perGroup }
    return this.#count >= this.#total ? { by: 'grid', quota: this.#total } : undefined
  }

  #slotsOf(key: string): (() => void)[] {
    return this.#slots.get(key) ?? []
  }

  #add(key: string, group: string, onEvicted: () => void): () => void {
    const release = () => {
      const others = this.#slotsOf(key).filter((slot) => slot !== evict)
      if (others.length === this.#slotsOf(key).length) return
      this.#countSlot(group, -1)
      if (others.length > 0) this.#slots.set(key, others)
      else this.#slots.delete(key)
    }
    const evict = () => {
      release()
      onEvicted()
    }
    this.#slots.set(key, [...this.#slotsOf(key), evict])
    this.#countSlot(group, 1)
    return release
  }

  #countSlot(group: string, change: 1 | -1): void {
    this.#count += change
    const count = (this.#groups.get(group) ?? 0) + change
    if (count > 0) this.#groups.set(group, count)
    else this.#groups.delete(group)
  }
}
