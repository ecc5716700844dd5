/**
 * Counted attempts and their rate limits, shared by all processes. Email and client addresses are stored only as
 * SHA-256: users sometimes type their password into the address field. See docs/people.md, "Signing in".
 */
import { type GridError, limitReached } from '../../errors.ts'
import { ipv6Prefix48, networkFactor48 } from '../../lib/http/client-address.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import { day, second } from '../../lib/time.ts'
import type { Attempt, AttemptLimit } from '../../store/global/attempts.ts'
import type { Store } from '../../store/store.ts'

export type Rate = readonly [max: number, windowMs: number]

/** Retention of attempts, in milliseconds: the longest window. */
export const attemptsKeptMs = day

/** A counter for an attempt, with its rates. */
export interface Count {
  kind: string
  subject: string
  rates: readonly Rate[]
  /** The kind the attempt is stored under if it only obeys the limit and does not count towards it. */
  storedAs?: string
}

/** Returns counters per client address, and per /48 of an IPv6 address. `prefix` also belongs to the subject. */
export function ofNetworks(
  kind: string,
  address: string,
  allowed: readonly Rate[],
  prefix = '',
): Count[] {
  const wide = ipv6Prefix48(address)
  const narrow = { kind, subject: hashForLookup(prefix + address), rates: allowed }
  if (wide === undefined) return [narrow]
  const wideRates = allowed.map(([max, windowMs]): Rate => [max * networkFactor48, windowMs])
  return [narrow, { kind: `${kind}_wide`, subject: hashForLookup(prefix + wide), rates: wideRates }]
}

/** Adds all attempts and resolves to true, or adds none and resolves to false if a limit is reached. */
export async function takeAttempts(
  store: Store,
  attempts: Attempt[],
  limits: AttemptLimit[],
  at: number,
): Promise<boolean> {
  const { add, has } = store.global.attempts
  const [added] = await store.write([add(attempts, limits, at)])
  // A statement that is retried after a lost response adds nothing, but its own rows exist.
  return added.length > 0 || await has(attempts[0].id)
}

/** Returns an attempt's rows, one per counter. Their ids begin with `id`. */
export function attemptsOf(id: string, counts: Count[]): Attempt[] {
  return counts.map(({ kind, subject, storedAs = kind }, n) => ({ id: `${id}.${n}`, kind: storedAs, subject }))
}

export function limitsOf(counts: readonly Count[], at: number): AttemptLimit[] {
  return counts.flatMap(({ kind, subject, rates }) =>
    rates.map(([max, windowMs]) => ({ kind, subject, max, since: at - windowMs }))
  )
}

/** Logs an error if the last of `limits` is the limit of the whole grid and is reached. */
export async function logReached(store: Store, limits: AttemptLimit[], message: string): Promise<void> {
  const limit = limits.at(-1)!
  if (limit.subject !== 'all' || await store.global.attempts.blockedSince(limit) === undefined) return
  store.deps.log.error(message, { limit: limit.max })
}

/**
 * Removes all attempts that `pair` counts (one user from one address), and what this attempt added to other counters.
 */
export async function forgetAttempts(store: Store, pair: Count, [, ...others]: Attempt[]): Promise<void> {
  const { removeAll, remove } = store.global.attempts
  await store.write([removeAll(pair.kind, pair.subject), ...others.map(({ id }) => remove(id))])
}

/** Returns the error of the limit that applies the longest. `name` is used in the rate limit headers. */
export async function tooMany(
  store: Store,
  limits: AttemptLimit[],
  at: number,
  name: string,
  what: string,
  code: 'rate_limit_exceeded' | 'signup_rate_limited' = 'rate_limit_exceeded',
): Promise<GridError> {
  const waits = await Promise.all(limits.map(async (limit) => {
    const blockedSince = await store.global.attempts.blockedSince(limit)
    return blockedSince === undefined ? 0 : blockedSince - limit.since
  }))
  const longest = Math.max(...waits)
  const { max, since } = limits[waits.indexOf(longest)]
  const reached = { name, quota: max, windowSeconds: (at - since) / second }
  const retryAfterSeconds = Math.max(1, Math.ceil(longest / second))
  const message = `${what} Try again in ${formatWait(retryAfterSeconds)}.`
  return limitReached(code, message, reached, retryAfterSeconds)
}

function formatWait(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`
}
