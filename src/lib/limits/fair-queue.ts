/**
 * A queue in which keys take turns (round robin), with one entry per turn. The entries of a
 * key stay in their order.
 */
export class FairQueue<T> {
  /** In the order of the turns. No list is empty. */
  readonly #waiting = new Map<string, T[]>()
  #size = 0

  /** How many entries wait. */
  get size(): number {
    return this.#size
  }

  /** How many keys have entries. */
  get keys(): number {
    return this.#waiting.size
  }

  /** How many entries of a key wait. */
  count(key: string): number {
    return this.#waiting.get(key)?.length ?? 0
  }

  add(key: string, ...entries: T[]): void {
    const waiting = this.#waiting.get(key)
    if (waiting) waiting.push(...entries)
    else if (entries.length > 0) this.#waiting.set(key, entries)
    this.#size += entries.length
  }

  /** Remove the first entry of the key whose turn it is. */
  next(): [key: string, entry: T] | undefined {
    for (const [key, entries] of this.#waiting) {
      const entry = entries.shift()!
      this.#size--
      this.#waiting.delete(key)
      if (entries.length > 0) this.#waiting.set(key, entries)
      return [key, entry]
    }
  }

  /** Remove all entries of a key. */
  removeAll(key: string): T[] {
    const entries = this.#waiting.get(key) ?? []
    this.#waiting.delete(key)
    this.#size -= entries.length
    return entries
  }

  /** The key with the most entries. */
  longest(): string | undefined {
    let longest: string | undefined
    for (const key of this.#waiting.keys()) {
      if (longest === undefined || this.count(key) > this.count(longest)) longest = key
    }
    return longest
  }

  /** Remove the newest entry of a key. */
  removeNewest(key: string): T | undefined {
    const entries = this.#waiting.get(key)
    const entry = entries?.pop()
    if (entry !== undefined) this.#size--
    if (entries?.length === 0) this.#waiting.delete(key)
    return entry
  }

  /** Remove the oldest entries of each key, as long as `isOver` says so. */
  removeOldest(isOver: (entry: T) => boolean): T[] {
    const removed: T[] = []
    for (const [key, entries] of this.#waiting) {
      while (entries.length > 0 && isOver(entries[0])) removed.push(entries.shift()!)
      if (entries.length === 0) this.#waiting.delete(key)
    }
    this.#size -= removed.length
    return removed
  }
}
