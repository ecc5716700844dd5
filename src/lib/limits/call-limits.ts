/**
 * Limits how often a credential and an account may call, and how often a client address may present a refused key.
 * Counted by token buckets in each process's memory. See docs/protocol/README.md, "Call limits".
 */
import type { Config } from '../../config.ts'
import { limitReached, type ReachedLimit } from '../../errors.ts'
import { minute, second } from '../time.ts'
import { TokenBuckets } from './token-buckets.ts'

export interface CallLimit {
  /** Fails with `rate_limit_exceeded` if the key has no tokens left. Does not count a call. */
  check(key: string, at: number): void
  count(key: string, at: number): void
}

/** An account may make as many calls as this many credentials. */
const credentialsOfAccount = 5
/** The burst size, in seconds of the permitted rate. */
const burstSeconds = { credential: 25, account: 20 }
const refusedKeysPerMinute = 120

/** Limits calls per credential. This and the next function return undefined if calls are unlimited. */
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

/** Allows `quota` calls per minute. */
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
