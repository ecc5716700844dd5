/**
 * How often a credential may call, and how often a client address may present a key that is refused. Counted in the
 * memory of each process. See docs/security.md, "Call limits".
 */
import type { Config } from '../config.ts'
import { GridError, type ReachedLimit } from '../errors.ts'
import { minute, second } from './time.ts'
import { TokenBuckets } from './token-bucket.ts'

/** Counts one for a key. Fails with `rate_limit_exceeded`, and then nothing is counted. */
export type Count = (key: string, at: number) => void

/** Counts calls by credential. Undefined if they are not limited. */
export function callLimit({ callsPerSecond, callBurst }: Config): Count | undefined {
  if (callsPerSecond === 0 || callBurst === 0) return undefined
  return limit(new TokenBuckets({ perSecond: callsPerSecond, burst: callBurst }), {
    reached: { name: 'calls', quota: callBurst, windowSeconds: Math.ceil(callBurst / callsPerSecond) },
    what: `Too many calls: this credential may make ${callBurst} at once and ${callsPerSecond} a second.`,
    advice: 'Call again',
  })
}

/** Counts refused keys by client address. Undefined if they are not limited. */
export function refusedKeyLimit({ failedKeysPerMinute }: Config): Count | undefined {
  if (failedKeysPerMinute === 0) return undefined
  const windowSeconds = minute / second
  return limit(new TokenBuckets({ perSecond: failedKeysPerMinute / windowSeconds, burst: failedKeysPerMinute }), {
    reached: { name: 'failed-keys', quota: failedKeysPerMinute, windowSeconds },
    what: `Too many refused keys came from this address: ${failedKeysPerMinute} a minute are answered.`,
    advice: 'Check the key and try again',
  })
}

function limit(buckets: TokenBuckets, said: { reached: ReachedLimit; what: string; advice: string }): Count {
  return function count(key, at) {
    const retryAfterSeconds = buckets.take(key, at)
    if (retryAfterSeconds === 0) return
    const wait = retryAfterSeconds === 1 ? '1 second' : `${retryAfterSeconds} seconds`
    throw new GridError('rate_limit_exceeded', `${said.what} ${said.advice} in ${wait}.`, {
      retryAfterSeconds,
      limit: said.reached,
    })
  }
}
