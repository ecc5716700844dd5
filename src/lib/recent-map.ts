/**
 * A map that forgets what was not used lately. It keeps two generations of at most `maxKept` entries, so that
 * forgetting takes no search: the entries that were used last, up to `maxKept`, are always kept.
 */
export class RecentMap<K, V> {
  readonly #maxKept: number
  #used = new Map<K, V>()
  #unused = new Map<K, V>()

  constructor(maxKept: number) {
    this.#maxKept = maxKept
  }

  /** How many entries are kept. */
  get size(): number {
    return this.#used.size + this.#unused.size
  }

  /** The value of a key. This uses it. */
  get(key: K): V | undefined {
    const value = this.#used.get(key)
    if (value !== undefined || this.#unused.size === 0) return value
    const unused = this.#unused.get(key)
    if (unused !== undefined) this.set(key, unused)
    return unused
  }

  set(key: K, value: V): void {
    if (this.#used.size >= this.#maxKept && !this.#used.has(key)) {
      this.#unused = this.#used
      this.#used = new Map()
    } else this.#unused.delete(key)
    this.#used.set(key, value)
  }

  delete(key: K): void {
    this.#used.delete(key)
    this.#unused.delete(key)
  }
}
