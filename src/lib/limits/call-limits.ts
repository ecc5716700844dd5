/**
 * How often a credential and all credentials of an account may call, and how often a client address may present a key that is refused. Counted in the
 * memory of each process. See docs/security.md, "Call limits".
 */
import type { Config } from '../../config.ts'
import { limitReached, type ReachedLimit } from '../../errors.ts'
import { minute, second } from '../time.ts'
import { TokenBuckets } from './token-bucket.ts'

/** One limit, by key. */
export interface CallLimit {
  /** Fails with `rate_limit_exceeded` if the key has nothing left. Counts nothing. */
  check(key: string, at: number): void
  /** Check, and count one. */
  count(key: string, at: number): void
}

/** Limits calls by credential. Undefined if they are not limited. */
export function credentialCallLimit({ callsPerSecond, callBurst }: Config): CallLimit | undefined {
  return callLimit('calls', 'this credential', callsPerSecond, callBurst)
}

/** Limits the calls of all credentials of an account together, by account. Undefined if they are not limited. */
export function accountCallLimit({ accountCallsPerSecond, accountCallBurst }: Config): CallLimit | undefined {
  return callLimit('account-calls', 'this account', accountCallsPerSecond, accountCallBurst)
}

function callLimit(name: string, whose: string, perSecond: number, burst: number): CallLimit | undefined {
  if (perSecond === 0 || burst === 0) return undefined
  return limit(new TokenBuckets({ perSecond, burst }), {
    reached: { name, quota: burst, windowSeconds: Math.ceil(burst / perSecond) },
    what: `Too many calls: ${whose} may make ${burst} at once and ${perSecond} a second.`,
    advice: 'Call again',
  })
}

/** Limits refused keys by client address. Undefined if they are not limited. */
export function refusedKeyLimit({ failedKeysPerMinute }: Config): CallLimit | undefined {
  if (failedKeysPerMinute === 0) return undefined
  const windowSeconds = minute / second
  return limit(new TokenBuckets({ perSecond: failedKeysPerMinute / windowSeconds, burst: failedKeysPerMinute }), {
    reached: { name: 'failed-keys', quota: failedKeysPerMinute, windowSeconds },
    what: `Too many refused keys came from this address: ${failedKeysPerMinute} a minute are answered.`,
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
