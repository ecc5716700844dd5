/** Limits how many slots one key, and all keys together, hold at a time. */
export class ConcurrencyLimit {
  /** For each key the functions that evict its slots, the oldest first. */
  readonly #slots = new Map<string, (() => void)[]>()
  readonly #perKey: number
  readonly #total: number
  #count = 0

  constructor(limits: { perKey: number; total: number }) {
    this.#perKey = limits.perKey
    this.#total = limits.total
  }

  /** How many slots are held. */
  get count(): number {
    return this.#count
  }

  /** Whether `acquire` would succeed. */
  hasCapacity(key: string): boolean {
    return this.#count < this.#total && this.#slotsOf(key).length < this.#perKey
  }

  /** Returns the function that releases the slot, or undefined if a limit is reached. */
  acquire(key: string): (() => void) | undefined {
    return this.hasCapacity(key) ? this.#add(key, () => {}) : undefined
  }

  /** Like `acquire`, but at the limit of the key its oldest slot is evicted: released, and its `onEvicted` called. */
  acquireOrEvictOldest(key: string, onEvicted: () => void): (() => void) | undefined {
    const slots = this.#slotsOf(key)
    if (slots.length >= this.#perKey) slots[0]()
    return this.#add(key, onEvicted)
  }

  #slotsOf(key: string): (() => void)[] {
    return this.#slots.get(key) ?? []
  }

  #add(key: string, onEvicted: () => void): (() => void) | undefined {
    if (this.#count >= this.#total) return undefined
    const release = () => {
      const others = this.#slotsOf(key).filter((slot) => slot !== evict)
      if (others.length === this.#slotsOf(key).length) return
      this.#count--
      if (others.length > 0) this.#slots.set(key, others)
      else this.#slots.delete(key)
    }
    const evict = () => {
      release()
      onEvicted()
    }
    this.#slots.set(key, [...this.#slotsOf(key), evict])
    this.#count++
    return release
  }
}
