/** Random choices that a seed repeats. */

export interface Random {
  /** From 0 to below `n`. */
  below(n: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
}

/** Choices of one request: the same for the same seed and number. Mulberry32 of Tommy Ettinger (public domain). */
export function randomOf(seed: number, n: number): Random {
  let state = (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) + Math.imul(n + 1, 0xc2b2ae35)) | 0
  function next(): number {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), 1 | state)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (n: number) => Math.floor(next() * n)
  return { below, chance: (probability) => next() < probability, pick: (items) => items[below(items.length)] }
}
