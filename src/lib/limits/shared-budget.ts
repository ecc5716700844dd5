/**
 * A budget that callers share. The less of it is left, the less each caller may hold. Concurrent callers converge to
 * equal shares, and part of the budget stays free for new callers.
 */
export class SharedBudget {
  readonly total: number
  readonly #divisor: number
  #held = 0
  readonly #holders = new Map<string, number>()

  /** A caller may hold at most `1 / divisor` of the free budget. Alone, it may hold `1 / (divisor + 1)` of `total`. */
  constructor(total: number, divisor: number) {
    this.total = total
    this.#divisor = divisor
  }

  get held(): number {
    return this.#held
  }

  /** The maximum that a single caller may hold. */
  get share(): number {
    return Math.floor(this.total / (this.#divisor + 1))
  }

  /** Whether a caller could hold this much more if it were alone. */
  allows(caller: string, amount: number): boolean {
    return this.#of(caller) + amount <= this.share
  }

  /** Reserves an amount for a caller. Returns false, and reserves nothing, if the caller would exceed its share. */
  take(caller: string, amount: number): boolean {
    const own = this.#of(caller) + amount
    if (own * this.#divisor > this.total - this.#held - amount) return false
    this.#holders.set(caller, own)
    this.#held += amount
    return true
  }

  release(caller: string, amount: number): void {
    const own = this.#of(caller) - amount
    if (own === 0) this.#holders.delete(caller)
    else this.#holders.set(caller, own)
    this.#held -= amount
  }

  #of(caller: string): number {
    return this.#holders.get(caller) ?? 0
  }
}
