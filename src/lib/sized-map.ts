/** A map of at most a number of bytes. It forgets what was not used for longest. */
export class SizedMap<K, V> {
  readonly #maxBytes: number
  /** The one that was used last is at the end. */
  readonly #entries = new Map<K, { value: V; bytes: number }>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** How many entries are kept. */
  get size(): number {
    return this.#entries.size
  }

  /** The value of a key. This uses it. */
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
