/** Rate limits by token bucket, in the memory of this process. */
import { second } from './time.ts'

/** How fast a bucket refills, and how many tokens it holds. */
export interface Rate {
  perSecond: number
  burst: number
}

interface Bucket {
  tokens: number
  /** When `tokens` was right, in milliseconds since the epoch. */
  at: number
}

/** Sums of fractions may lack this much of a whole token. */
const rounding = 1e-9

/**
 * One bucket for each key. A bucket that was not used lately is forgotten, which makes it full again: two generations
 * of at most `maxKept` buckets are kept, so that forgetting takes no search.
 */
export class TokenBuckets {
  readonly #rate: Rate
  readonly #maxKept: number
  #used = new Map<string, Bucket>()
  #unused = new Map<string, Bucket>()

  constructor(rate: Rate, maxKept = 20_000) {
    this.#rate = rate
    this.#maxKept = maxKept
  }

  /** How many buckets are kept. */
  get count(): number {
    return this.#used.size + this.#unused.size
  }

  /** Take one token and return 0. If there is none, take nothing and return the seconds until there is one. */
  take(key: string, now: number): number {
    const seconds = this.secondsUntil(key, now)
    if (seconds === 0) this.#used.get(key)!.tokens--
    return seconds
  }

  /** The seconds until there is a token, in whole ones; 0 if there is one. Takes nothing. */
  secondsUntil(key: string, now: number): number {
    const bucket = this.#used.get(key) ?? this.#keep(key, now)
    const { perSecond, burst } = this.#rate
    // A clock that was set back adds nothing.
    if (now > bucket.at) bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perSecond / second)
    bucket.at = now
    return bucket.tokens < 1 - rounding ? Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond - rounding)) : 0
  }

  /** The bucket of a key that was not used since the last change of generations. */
  #keep(key: string, now: number): Bucket {
    const bucket = this.#unused.get(key) ?? { tokens: this.#rate.burst, at: now }
    if (this.#used.size === this.#maxKept) {
      this.#unused = this.#used
      this.#used = new Map()
    } else {
      this.#unused.delete(key)
    }
    this.#used.set(key, bucket)
    return bucket
  }
}
