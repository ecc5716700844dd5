/** A map with limited weight that evicts the least recently used entries. The default weight of an entry is 1. */
export class LruMap<K, V> {
  readonly #maxWeight: number
  /** The entries, with the most recently used one at the end. */
  readonly #entries = new Map<K, { value: V; weight: number }>()
  #weight = 0

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns a key's value. This counts as a use. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Stores an entry, unless it is heavier than the maximum weight. */
  set(key: K, value: V, weight = 1): void {
    this.delete(key)
    if (weight > this.#maxWeight) return
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#maxWeight) break
      this.delete(oldest)
    }
  }

  delete(key: K): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    this.#entries.delete(key)
  }
}
