/** An amount that groups share: together they take at most all of it, and one group at most its share. */
export class GroupBudget {
  readonly #perGroup: number
  readonly #total: number
  readonly #taken = new Map<string, number>()
  #sum = 0

  constructor(limits: { perGroup: number; total: number }) {
    this.#perGroup = limits.perGroup
    this.#total = limits.total
  }

  /** How much is taken. */
  get taken(): number {
    return this.#sum
  }

  /** Returns the function that gives the amount back, or undefined if there is not so much left. */
  take(group: string, amount: number): (() => void) | undefined {
    const ofGroup = this.#taken.get(group) ?? 0
    if (ofGroup + amount > this.#perGroup || this.#sum + amount > this.#total) return undefined
    this.#change(group, amount)
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#change(group, -amount)
    }
  }

  #change(group: string, amount: number): void {
    this.#sum += amount
    const ofGroup = (this.#taken.get(group) ?? 0) + amount
    if (ofGroup > 0) this.#taken.set(group, ofGroup)
    else this.#taken.delete(group)
  }
}
