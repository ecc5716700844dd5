/**
 * How often a credential and an account may call, and how often a client address may present a key that is refused. Counted
 * by token buckets in the memory of each process. See docs/protocol/README.md, "Call limits".
 */
import type { Config } from '../../config.ts'
import { limitReached, type ReachedLimit } from '../../errors.ts'
import { LruMap } from '../lru-map.ts'
import { minute, second } from '../time.ts'

/** How fast a bucket refills, and how many tokens it holds. */
interface Rate {
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

/** One bucket for each key. A bucket that was not used lately is forgotten, which makes it full again. */
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

  /** Take one token and return 0. If there is none, take nothing and return the seconds until there is one. */
  take(key: string, now: number): number {
    const bucket = this.#filled(key, now)
    const seconds = this.#secondsUntil(bucket)
    if (seconds === 0) bucket.tokens--
    return seconds
  }

  /** The seconds until there is a token, in whole ones; 0 if there is one. Takes nothing. */
  secondsUntil(key: string, now: number): number {
    return this.#secondsUntil(this.#filled(key, now))
  }

  #secondsUntil({ tokens }: Bucket): number {
    return tokens < 1 - rounding ? Math.max(1, Math.ceil((1 - tokens) / this.#rate.perSecond - rounding)) : 0
  }

  /** The bucket of a key, with the tokens that it has now. */
  #filled(key: string, now: number): Bucket {
    const { perSecond, burst } = this.#rate
    let bucket = this.#buckets.get(key)
    if (!bucket) this.#buckets.set(key, bucket = { tokens: burst, at: now })
    // A clock that was set back adds nothing.
    if (now > bucket.at) bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perSecond / second)
    bucket.at = now
    return bucket
  }
}

export interface CallLimit {
  /** Fails with `rate_limit_exceeded` if the key has nothing left. Counts nothing. */
  check(key: string, at: number): void
  count(key: string, at: number): void
}

/** An account may call as often as this many credentials. */
const credentialsOfAccount = 5
/** For how many seconds' worth of calls may be made at once. */
const burstSeconds = { credential: 25, account: 20 }
const refusedKeysPerMinute = 120

/** By credential. Undefined if calls are not limited, like the next. */
export function credentialCallLimit({ callsPerSecond }: Config): CallLimit | undefined {
  return callLimit('calls', 'this credential', callsPerSecond, burstSeconds.credential)
}

export function accountCallLimit({ callsPerSecond }: Config): CallLimit | undefined {
  return callLimit('account-calls', 'this account', credentialsOfAccount * callsPerSecond, burstSeconds.account)
}

function callLimit(name: string, whose: string, perSecond: number, windowSeconds: number): CallLimit | undefined {
  if (perSecond === 0) return undefined
  const burst = perSecond * windowSeconds
  return limit(new TokenBuckets({ perSecond, burst }), {
    reached: { name, quota: burst, windowSeconds },
    what: `Too many calls: ${whose} may make ${burst} at once and ${perSecond} a second.`,
    advice: 'Call again',
  })
}

export function refusedKeyLimit(): CallLimit {
  const windowSeconds = minute / second
  return limit(new TokenBuckets({ perSecond: refusedKeysPerMinute / windowSeconds, burst: refusedKeysPerMinute }), {
    reached: { name: 'failed-keys', quota: refusedKeysPerMinute, windowSeconds },
    what: `Too many refused keys came from this address: ${refusedKeysPerMinute} a minute are answered.`,
    advice: 'Check the key and try again',
  })
}

function limit(buckets: TokenBuckets, said: { reached: ReachedLimit; what: string; advice: string }): CallLimit {
  function refuseAfter(retryAfterSeconds: number): void {
    if (retryAfterSeconds === 0) return
    const wait = retryAfterSeconds === 1 ? '1 second' : `${retryAfterSeconds} seconds`
    const message = `${said.what} ${said.advice} in ${wait}.`
    throw limitReached('rate_limit_exceeded', message, said.reached, retryAfterSeconds)
  }
  return {
    check: (key, at) => refuseAfter(buckets.secondsUntil(key, at)),
    count: (key, at) => refuseAfter(buckets.take(key, at)),
  }
}
