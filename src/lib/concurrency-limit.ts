/** A limit of what one key may hold at a time, and all keys together. */
export class Seats {
  readonly #taken = new Map<string, (() => void)[]>()
  readonly #perKey: number
  readonly #total: number
  #count = 0

  constructor(limits: { perKey: number; total: number }) {
    this.#perKey = limits.perKey
    this.#total = limits.total
  }

  /** How many seats are taken. */
  get count(): number {
    return this.#count
  }

  /** Whether `take` would give one. */
  isFree(key: string): boolean {
    return this.#count < this.#total && this.#of(key).length < this.#perKey
  }

  /** The way to give the seat back, or undefined when the key, or everybody, has no more. */
  take(key: string): (() => void) | undefined {
    return this.isFree(key) ? this.#sit(key, () => {}) : undefined
  }

  /** `take`, but when the key has no more, its oldest seat is given back and the holder told with its `onLost`. */
  takeOldest(key: string, onLost: () => void): (() => void) | undefined {
    const mine = this.#of(key)
    if (mine.length >= this.#perKey) mine[0]()
    return this.#sit(key, onLost)
  }

  #of(key: string): (() => void)[] {
    return this.#taken.get(key) ?? []
  }

  #sit(key: string, onLost: () => void): (() => void) | undefined {
    if (this.#count >= this.#total) return undefined
    const leave = () => {
      const left = this.#of(key).filter((other) => other !== lose)
      if (left.length === this.#of(key).length) return
      this.#count--
      if (left.length > 0) this.#taken.set(key, left)
      else this.#taken.delete(key)
    }
    const lose = () => {
      leave()
      onLost()
    }
    this.#taken.set(key, [...this.#of(key), lose])
    this.#count++
    return leave
  }
}
