/** A map of limited weight, which evicts the least recently used entries. An entry weighs 1 unless set otherwise. */
export class LruMap<K, V> {
  readonly #maxWeight: number
  /** The most recently used entry is last. */
  readonly #entries = new Map<K, { value: V; weight: number }>()
  #weight = 0

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight
  }

  get size(): number {
    return this.#entries.size
  }

  /** Returns a key's value, and marks it as used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** Sets an entry, unless it exceeds the whole map's maximum weight. */
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
