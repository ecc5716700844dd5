/**
 * Limits the calls of a credential and an account, and the refused keys from a client address. Token buckets in each
 * process's memory count them. See docs/protocol/README.md, "Call limits".
 */
import type { Config } from '../../config.ts'
import { limitReached, type ReachedLimit } from '../../errors.ts'
import { minute, second } from '../time.ts'
import { TokenBuckets } from './token-buckets.ts'

export interface CallLimit {
  /** Fails with `rate_limit_exceeded` if the key's bucket is empty. Does not take a token. */
  check(key: string, at: number): void
  count(key: string, at: number): void
}

/** An account's limit, as a multiple of a credential's. */
const credentialsOfAccount = 5
/** The burst size, in seconds of the permitted rate. */
const burstSeconds = { credential: 25, account: 20 }
const refusedKeysPerMinute = 120

/** Limits calls by credential. Like the next function, returns undefined if calls are not limited. */
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
  return minuteLimit('failed-keys', refusedKeysPerMinute, {
    what: `Too many refused keys came from this address: ${refusedKeysPerMinute} a minute are answered.`,
    advice: 'Check the key and try again',
  })
}

/** Creates a limit with a rate of `quota` per minute. */
export function minuteLimit(name: string, quota: number, said: { what: string; advice: string }): CallLimit {
  const windowSeconds = minute / second
  const buckets = new TokenBuckets({ perSecond: quota / windowSeconds, burst: quota })
  return limit(buckets, { ...said, reached: { name, quota, windowSeconds } })
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
