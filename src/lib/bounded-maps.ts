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

/** A map of at most a number of bytes. It forgets what was not used for longest. */
export class SizedMap<K, V> {
  readonly #maxBytes: number
  /** The one that was used last is at the end. */
  readonly #entries = new Map<K, { value: V; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** A value that is larger than the map may be is not kept. */
  set(key: K, value: V, bytes: number): void {
    this.delete(key)
    if (bytes > this.#maxBytes) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const [oldest] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) break
      this.delete(oldest)
    }
  }

  delete(key: K): void {
    this.#bytes -= this.#entries.get(key)?.bytes ?? 0
    this.#entries.delete(key)
  }
}
