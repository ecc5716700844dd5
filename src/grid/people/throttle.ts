/**
 * Rate limits of sign-ins and emails, shared by all processes. Each attempt is a row, and one statement both counts
 * and adds. Email and client addresses are stored only as SHA-256: users sometimes type their password into the
 * address field, and most tried addresses belong to no user. Rows are kept for a day.
 *
 * See docs/security.md, "Sign-in limits" and "Email limits".
 */
import { hashSecret } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { ipv6Prefix48 } from '../../lib/client-address.ts'
import { newId } from '../../lib/id.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { Attempt, AttemptLimit } from '../../store/global/attempts.ts'
import type { Store } from '../../store/store.ts'

/** At most `max` attempts within a sliding window. */
type Rate = readonly [max: number, windowMs: number]

/** The rates of each limit. All rates of a limit apply together. */
const rates = {
  /** One email address from one client address. Each step doubles the wait. */
  signIn: [
    ...[[4, 30 * second], [5, minute], [6, 2 * minute], [7, 4 * minute], [8, 8 * minute], [9, 16 * minute]],
    ...[[10, hour], [20, day]],
  ],
  /** One email address from all clients. Beyond it `signInInCrowd` applies too, so no client is locked out. */
  signInCrowd: [[100, hour]],
  signInInCrowd: [[1, 15 * minute]],
  /** One client address for all users, against credential stuffing. Generous, because an office may share an address. */
  signInFrom: [[30, minute], [300, hour]],
  /** One recipient. */
  emailTo: [[1, 5 * minute], [3, day]],
  /** One client address. */
  emailFrom: [[5, hour]],
  /** The /48 network of an IPv6 client address. */
  emailFromWide: [[50, hour]],
} as const satisfies Record<string, readonly (readonly number[])[]>

/** Retention of attempts, in milliseconds: the longest window. */
export const attemptsKeptMs = day
/** Most old attempts that each new one removes. */
const removedAtOnce = 100

/** A counted sign-in attempt that is within the limits. */
export interface SignInAttempt {
  /** Call it after the right password: removes the attempts of this user and client from the limits. */
  succeeded(): Promise<void>
}

/**
 * Count one attempt to sign in as `email` from the client at `address`, before the password is verified and also for
 * unknown users. Fails with `rate_limit_exceeded`, which tells when to try again.
 */
export async function takeSignInAttempt(store: Store, email: string, address: string): Promise<SignInAttempt> {
  const at = store.deps.now()
  const id = newId()
  const pair = await hashSecret(`${email}\n${address}`)
  const person = await hashSecret(email)
  const client = await hashSecret(address)

  const crowd = limitsOf('sign_in_crowd', person, rates.signInCrowd, at)
  const isCrowded = (await store.global.attempts.blockedSince(crowd[0])) !== undefined
  const limits = [
    ...limitsOf('sign_in', pair, [...rates.signIn, ...(isCrowded ? rates.signInInCrowd : [])], at),
    ...limitsOf('sign_in_from', client, rates.signInFrom, at),
  ]
  const attempts = [
    { id: `${id}.1`, kind: 'sign_in', subject: pair },
    { id: `${id}.2`, kind: 'sign_in_crowd', subject: person },
    { id: `${id}.3`, kind: 'sign_in_from', subject: client },
  ]
  if (!(await take(store, attempts, limits, at))) throw await tooMany(store, limits, 'Too many sign-in attempts.')
  return {
    async succeeded() {
      await store.write([
        store.global.attempts.removeAll('sign_in', pair),
        store.global.attempts.remove(`${id}.2`),
        store.global.attempts.remove(`${id}.3`),
      ])
    },
  }
}

/**
 * Count one email to `email`, caused by the client at `address`. False if the limit of the recipient, of the client or
 * of the whole grid (which logs an error) is reached. Do not tell an unauthenticated caller: it would reveal what
 * others have requested.
 */
export async function takeEmailAttempt(store: Store, email: string, address: string): Promise<boolean> {
  return (await takeOrReachedLimits(store, email, address)) === undefined
}

/**
 * The same for a caller that may learn about other emails to this recipient. Fails with `rate_limit_exceeded`, which
 * tells when to try again.
 */
export async function requireEmailAttempt(store: Store, email: string, address: string): Promise<void> {
  const limits = await takeOrReachedLimits(store, email, address)
  if (limits) throw await tooMany(store, limits, 'Too many emails were sent.')
}

/** Count one email and resolve to undefined, or count nothing and resolve to the limits, some of which are reached. */
async function takeOrReachedLimits(store: Store, email: string, address: string): Promise<AttemptLimit[] | undefined> {
  const at = store.deps.now()
  const id = newId()
  const wide = ipv6Prefix48(address)
  const subjects = {
    mail_to: [await hashSecret(email), rates.emailTo],
    mail_from: [await hashSecret(address), rates.emailFrom],
    ...(wide === undefined ? {} : { mail_from_wide: [await hashSecret(wide), rates.emailFromWide] }),
    mail: ['all', [[store.deps.config.mailsPerHour, hour]]],
  } as Record<string, [string, readonly Rate[]]>

  const entries = Object.entries(subjects)
  const attempts = entries.map(([kind, [subject]], n) => ({ id: `${id}.${n}`, kind, subject }))
  const limits = entries.flatMap(([kind, [subject, allowed]]) => limitsOf(kind, subject, allowed, at))
  if (await take(store, attempts, limits, at)) return undefined

  const gridLimit = limits.at(-1)!
  if (await store.global.attempts.blockedSince(gridLimit) !== undefined) {
    store.deps.log.error('The hourly email limit of the grid is reached', { limit: gridLimit.max })
  }
  return limits
}

/** Add all attempts and resolve to true, or none of them if a limit is reached. */
async function take(store: Store, attempts: Attempt[], limits: AttemptLimit[], at: number): Promise<boolean> {
  const { add, removeOld, has } = store.global.attempts
  const [added] = await store.write([add(attempts, limits, at), removeOld(at - attemptsKeptMs, removedAtOnce)])
  // A repeated statement after a lost response adds nothing but finds its own rows.
  return added.length > 0 || await has(attempts[0].id)
}

function limitsOf(kind: string, subject: string, allowed: readonly Rate[], at: number): AttemptLimit[] {
  return allowed.map(([max, windowMs]) => ({ kind, subject, max, since: at - windowMs }))
}

async function tooMany(store: Store, limits: AttemptLimit[], what: string): Promise<GridError> {
  const waits = await Promise.all(limits.map(async (limit) => {
    const blockedSince = await store.global.attempts.blockedSince(limit)
    return blockedSince === undefined ? 0 : blockedSince - limit.since
  }))
  const retryAfterSeconds = Math.max(1, Math.ceil(Math.max(...waits) / second))
  return new GridError('rate_limit_exceeded', `${what} Try again in ${formatWait(retryAfterSeconds)}.`, {
    retryAfterSeconds,
  })
}

function formatWait(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`
}
