/** A queue that serves keys round robin, one entry per turn. A key's entries stay in order. */
export class FairQueue<T> {
  /** Entries by key, in the order of the keys' turns. No list is empty. */
  readonly #waiting = new Map<string, T[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The number of keys with entries. */
  get keys(): number {
    return this.#waiting.size
  }

  /** The number of a key's waiting entries. */
  count(key: string): number {
    return this.#waiting.get(key)?.length ?? 0
  }

  add(key: string, ...entries: T[]): void {
    const waiting = this.#waiting.get(key)
    if (waiting) waiting.push(...entries)
    else if (entries.length > 0) this.#waiting.set(key, entries)
    this.#size += entries.length
  }

  /** Removes and returns the first entry of the key whose turn it is. */
  next(): [key: string, entry: T] | undefined {
    for (const [key, entries] of this.#waiting) {
      const entry = entries.shift()!
      this.#size--
      this.#waiting.delete(key)
      if (entries.length > 0) this.#waiting.set(key, entries)
      return [key, entry]
    }
  }

  /** Removes and returns all of a key's entries. */
  removeAll(key: string): T[] {
    const entries = this.#waiting.get(key) ?? []
    this.#waiting.delete(key)
    this.#size -= entries.length
    return entries
  }

  /** Returns the key with the most entries. */
  longest(): string | undefined {
    let longest: string | undefined
    for (const key of this.#waiting.keys()) {
      if (longest === undefined || this.count(key) > this.count(longest)) longest = key
    }
    return longest
  }

  /** Removes and returns a key's newest entry. */
  removeNewest(key: string): T | undefined {
    const entries = this.#waiting.get(key)
    const entry = entries?.pop()
    if (entry !== undefined) this.#size--
    if (entries?.length === 0) this.#waiting.delete(key)
    return entry
  }

  /** Removes each key's oldest entries while `isOver` returns true for them. */
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
