/**
 * Limits that hold across processes: each attempt is a row, and counting and adding is one statement.
 *
 * Who and from where is kept as SHA-256 alone: people type passwords into the field for the address,
 * and most addresses tried belong to nobody here. The rows live for a day. Security A1, A5.
 */
import { hashSecret } from '../../auth/secrets.ts'
import { GridError } from '../../errors.ts'
import { wideAddress } from '../../lib/address.ts'
import { newId } from '../../lib/id.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { Attempt, Limit } from '../../store/global/attempts.ts'
import type { Store } from '../../store/store.ts'

/** How many within how long. */
type Rate = readonly [max: number, windowMs: number]

/** Every limit by name. Several rates hold together. */
const rates = {
  /** One person from one address. Each step doubles the wait: an exponential delay. */
  signIn: [
    ...[[4, 30 * second], [5, minute], [6, 2 * minute], [7, 4 * minute], [8, 8 * minute], [9, 16 * minute]],
    ...[[10, hour], [20, day]],
  ],
  /** One person from everywhere, soft: beyond it one address tries only so often, and is never shut out. */
  signInCrowd: [[100, hour]],
  signInInCrowd: [[1, 15 * minute]],
  /** One address as whomever: lists of stolen passwords. Wide, because a whole office may share an address. */
  signInFrom: [[30, minute], [300, hour]],
  mailTo: [[1, 5 * minute], [3, day]],
  mailFrom: [[5, hour]],
  /** The /48 around an IPv6 address. */
  mailFromWide: [[50, hour]],
} as const satisfies Record<string, readonly (readonly number[])[]>

/** Nothing looks back further. */
export const attemptsKeptMs = day
/** Removed with each addition, so that nothing piles up. */
const removedAtOnce = 100

/** One attempt to sign in that may go on to the password. */
export interface SignInAttempt {
  /** The password was right: this person's attempts from here count no more. */
  succeeded(): Promise<void>
}

/**
 * Take one attempt to sign in as `email` from `address`, before any password is verified, also for people who
 * do not exist. Fails with `rate_limit_exceeded`, which says when the next one is due.
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
  if (!(await take(store, attempts, limits, at))) throw await tooMany(store, limits, 'Too many attempts to sign in.')
  return {
    async succeeded() {
      await store.write([
        store.global.attempts.removeOf('sign_in', pair),
        store.global.attempts.remove(`${id}.2`),
        store.global.attempts.remove(`${id}.3`),
      ])
    },
  }
}

/**
 * Take one mail to `email` on behalf of a client at `address`. False when a limit is reached: of the person, of the
 * client, or of the whole grid, which is an alarm. Strangers must not be told, since it says what others asked for.
 */
export async function takeMailAttempt(store: Store, email: string, address: string): Promise<boolean> {
  return (await mailLimitsReached(store, email, address)) === undefined
}

/**
 * The same for callers who may learn that others asked for mails to this person. Fails with `rate_limit_exceeded`,
 * which says when the next one is due.
 */
export async function requireMailAttempt(store: Store, email: string, address: string): Promise<void> {
  const limits = await mailLimitsReached(store, email, address)
  if (limits) throw await tooMany(store, limits, 'Too many mails were sent.')
}

/** Take one mail; with the limits, of which some are reached, when it is not taken. */
async function mailLimitsReached(store: Store, email: string, address: string): Promise<Limit[] | undefined> {
  const at = store.deps.now()
  const id = newId()
  const wide = wideAddress(address)
  const subjects = {
    mail_to: [await hashSecret(email), rates.mailTo],
    mail_from: [await hashSecret(address), rates.mailFrom],
    ...(wide === undefined ? {} : { mail_from_wide: [await hashSecret(wide), rates.mailFromWide] }),
    mail: ['all', [[store.deps.config.mailsPerHour, hour]]],
  } as Record<string, [string, readonly Rate[]]>

  const entries = Object.entries(subjects)
  const attempts = entries.map(([kind, [subject]], n) => ({ id: `${id}.${n}`, kind, subject }))
  const limits = entries.flatMap(([kind, [subject, allowed]]) => limitsOf(kind, subject, allowed, at))
  if (await take(store, attempts, limits, at)) return undefined

  const whole = limits.at(-1)!
  if (await store.global.attempts.blockedSince(whole) !== undefined) {
    store.deps.log.error('The grid sends no more mail this hour', { limit: whole.max })
  }
  return limits
}

/** Add all attempts if no limit is reached, otherwise none. */
async function take(store: Store, attempts: Attempt[], limits: Limit[], at: number): Promise<boolean> {
  const { add, removeOld, has } = store.global.attempts
  const [added] = await store.write([add(attempts, limits, at), removeOld(at - attemptsKeptMs, removedAtOnce)])
  // Repeated after a lost answer, the statement met its own rows.
  return added.length > 0 || await has(attempts[0].id)
}

function limitsOf(kind: string, subject: string, allowed: readonly Rate[], at: number): Limit[] {
  return allowed.map(([max, windowMs]) => ({ kind, subject, max, since: at - windowMs }))
}

async function tooMany(store: Store, limits: Limit[], what: string): Promise<GridError> {
  const waits = await Promise.all(limits.map(async (limit) => {
    const blockedSince = await store.global.attempts.blockedSince(limit)
    return blockedSince === undefined ? 0 : blockedSince - limit.since
  }))
  const retryAfterSeconds = Math.max(1, Math.ceil(Math.max(...waits) / second))
  return new GridError('rate_limit_exceeded', `${what} Try again in ${inWords(retryAfterSeconds)}.`, {
    retryAfterSeconds,
  })
}

function inWords(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`
}
