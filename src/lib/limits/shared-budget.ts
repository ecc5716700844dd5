/** A budget that callers share without using it up. */
import type { Caller } from '../http/caller.ts'

/**
 * The less of the budget is left, the less each caller may hold of it. So callers that take at the same time come to equal
 * shares, and leave some for the next one. A group holds at most as much as it leaves.
 */
export class SharedBudget {
  readonly #total: number
  readonly #divisor: number
  #held = 0
  readonly #holders = new Map<string, number>()

  /** A caller holds at most `1 / divisor` of what is left beside it: alone, `1 / (divisor + 1)` of `total`. */
  constructor(total: number, divisor: number) {
    this.#total = total
    this.#divisor = divisor
  }

  /** What all callers hold. */
  get held(): number {
    return this.#held
  }

  /** Take some for a caller. False, and nothing is taken, if it would hold more than its share. */
  take({ name, groups }: Caller, amount: number): boolean {
    const own = this.#of(name) + amount
    let left = this.#total - this.#held - amount
    for (const group of groups) left -= this.#of(group) + amount
    if (own * this.#divisor > left) return false
    this.#add(name, amount)
    for (const group of groups) this.#add(group, amount)
    this.#held += amount
    return true
  }

  /** Give back what was taken for a caller. */
  release({ name, groups }: Caller, amount: number): void {
    this.#add(name, -amount)
    for (const group of groups) this.#add(group, -amount)
    this.#held -= amount
  }

  #of(holder: string): number {
    return this.#holders.get(holder) ?? 0
  }

  #add(holder: string, amount: number): void {
    const held = this.#of(holder) + amount
    if (held === 0) this.#holders.delete(holder)
    else this.#holders.set(holder, held)
  }
}
