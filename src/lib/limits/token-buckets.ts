import { LruMap } from '../lru-map.ts'
import { second } from '../time.ts'

/** A bucket's refill rate and capacity. */
interface Rate {
  perSecond: number
  burst: number
}

interface Bucket {
  tokens: number
  /** When `tokens` was updated, in milliseconds since the epoch. */
  at: number
}

/** Tolerance for rounding errors when checking for a full token. */
const rounding = 1e-9

/** One bucket per key. Buckets that were not used recently are dropped, and are full when they are used again. */
export class TokenBuckets {
  readonly #rate: Rate
  readonly #buckets: LruMap<string, Bucket>

  constructor(rate: Rate, maxKept = 20_000) {
    this.#rate = rate
    this.#buckets = new LruMap(maxKept)
  }

  get count(): number {
    return this.#buckets.size
  }

  /** Takes one token and returns 0. Without a token, takes nothing and returns the seconds until there is one. */
  take(key: string, now: number): number {
    const bucket = this.#filled(key, now)
    const seconds = this.#secondsUntil(bucket)
    if (seconds === 0) bucket.tokens--
    return seconds
  }

  /** Returns the whole seconds until there is a token, or 0 if there is one. Takes nothing. */
  secondsUntil(key: string, now: number): number {
    return this.#secondsUntil(this.#filled(key, now))
  }

  #secondsUntil({ tokens }: Bucket): number {
    return tokens < 1 - rounding ? Math.max(1, Math.ceil((1 - tokens) / this.#rate.perSecond - rounding)) : 0
  }

  /** Returns a key's bucket with its current tokens. */
  #filled(key: string, now: number): Bucket {
    const { perSecond, burst } = this.#rate
    let bucket = this.#buckets.get(key)
    if (!bucket) this.#buckets.set(key, bucket = { tokens: burst, at: now })
    // A clock that was set back adds no tokens.
    if (now > bucket.at) bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perSecond / second)
    bucket.at = now
    return bucket
  }
}
