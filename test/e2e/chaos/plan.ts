/** A schedule of kills, derived from a seed. */

export interface Kill {
  /** Milliseconds after the start of the load. */
  atMs: number
  /** Index of an instance, or the libsql-server. */
  what: number | 'database'
  downMs: number
}

/**
 * Plans kills of instances 0.5 to 2.5 s apart, each down for up to 1 s. The database is killed at most once, in the
 * middle.
 */
export function planOf(options: { seed: number; seconds: number; instances: number; killDatabase: boolean }): Kill[] {
  const random = generator(options.seed)
  const endMs = options.seconds * 1_000
  const kills: Kill[] = []
  for (let atMs = 500; atMs < endMs; atMs += 500 + random() * 2_000) {
    kills.push({ atMs, what: Math.floor(random() * options.instances), downMs: random() * 1_000 })
  }
  if (options.killDatabase) kills.push({ atMs: endMs / 2, what: 'database', downMs: random() * 1_000 })
  return kills.sort((a, b) => a.atMs - b.atMs)
}

/** Returns a generator of pseudo-random numbers from 0 to 1 (a 32-bit hash of a counter). */
export function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}
