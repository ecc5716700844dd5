/**
 * Rate limits of sign-ins and emails, shared by all processes. Each attempt is a row, and one statement both counts
 * and adds. Email and client addresses are stored only as SHA-256: users sometimes type their password into the
 * address field, and most tried addresses belong to no user. Rows are kept for a day.
 *
 * See docs/security.md, "Networks", "Sign-in limits" and "Email limits".
 */
import type { Config } from '../../config.ts'
import { type GridError, limitReached } from '../../errors.ts'
import { ipv6Prefix48, unknownAddress } from '../../lib/http/client-address.ts'
import { newId } from '../../lib/id.ts'
import { hashSecret } from '../../lib/secrets.ts'
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
  /** One email address from all clients. Beyond it, or beyond the total, `signInInCrowd` applies. */
  signInCrowd: [[100, hour]],
  signInInCrowd: [[1, 15 * minute]],
  /** One client address for all users, against credential stuffing. Generous, because an office may share an address. */
  signInFrom: [[30, minute], [300, hour]],
  /** Second factors of one user from one client address, and from all that are not familiar. */
  secondFactor: [[5, 5 * minute], [10, hour], [20, day]],
  secondFactorFromAll: [[30, day]],
  /** Emails of one purpose to one recipient. */
  emailTo: [[1, 5 * minute], [3, day]],
  /** Emails of one purpose that one client address causes. */
  emailFrom: [[5, hour]],
  /** Email links of one purpose that one client address requests, whether or not they are sent. */
  linkRequests: { sign_in: [[20, hour]], reset: [[20, hour]], change_email: [[5, hour]] },
} as const satisfies Record<string, unknown>

/** The part of the hourly emails of the grid that claims may have, and invitations. The rest is for email links. */
const shareOfGrid = 0.4

/** Retention of attempts, in milliseconds: the longest window. */
export const attemptsKeptMs = day
/** Most old attempts that each new one removes. */
const removedAtOnce = 100

/** What one attempt counts towards, and the rates of that. */
interface Count {
  kind: string
  subject: string
  rates: readonly Rate[]
  /** The kind that the attempt is stored with, if it only respects the limit and does not count towards it. */
  storedAs?: string
}

/** A counted sign-in attempt that is within the limits. */
export interface SignInAttempt {
  /** Whether the user has signed in from this client address before. */
  isFamiliar: boolean
  /** Call it after the right password: removes the attempts of this user and client from the limits. */
  succeeded(): Promise<void>
}

/**
 * Count one attempt to sign in as `email` from the client at `address`, before the password is verified and also for
 * unknown users. Fails with `rate_limit_exceeded`, which tells when to try again.
 *
 * From a familiar address only the limit of this user and address applies: what others guess does not lock a user out.
 */
export async function takeSignInAttempt(store: Store, email: string, address: string): Promise<SignInAttempt> {
  const { config } = store.deps
  const at = store.deps.now()
  const id = newId()
  const isFamiliar = await isFamiliarAddress(store, email, address)
  const crowd: Count = { kind: 'sign_in_crowd', subject: await hashSecret(email), rates: rates.signInCrowd }
  const total: Count = { kind: 'sign_in_all', subject: 'all', rates: [[config.signInsPerHour, hour]] }
  const [isCrowded, isBusy] = await Promise.all(
    [crowd, total].map(async (count) =>
      await store.global.attempts.blockedSince(limitsOf([count], at)[0]) !== undefined
    ),
  )
  if (isBusy) {
    store.deps.log.error('The hourly limit of failed sign-ins of the grid is reached', { limit: config.signInsPerHour })
  }
  const inCrowd = (isCrowded || isBusy) && !isFamiliar ? rates.signInInCrowd : []
  const [pair, ...pairWide] = await ofNetworks(config, 'sign_in', address, [...rates.signIn, ...inCrowd], `${email}\n`)
  const others = [
    ...pairWide,
    ...await ofNetworks(config, 'sign_in_from', address, rates.signInFrom),
  ]
  const attempts = attemptsOf(id, [pair, crowd, ...others, total])
  const limits = limitsOf([pair, ...(isFamiliar ? [] : others)], at)
  if (!(await take(store, attempts, limits, at))) {
    throw await tooMany(store, limits, at, 'sign-ins', 'Too many sign-in attempts.')
  }
  return { isFamiliar, succeeded: () => forgetAttempts(store, pair, attempts) }
}

/**
 * Count one code of a second factor, before it is verified. `succeeded` removes the attempts of this user and client.
 * Fails with `rate_limit_exceeded`. See docs/security.md, "Second factor".
 */
export async function takeSecondFactorAttempt(store: Store, email: string, address: string): Promise<SignInAttempt> {
  const at = store.deps.now()
  const id = newId()
  const isFamiliar = await isFamiliarAddress(store, email, address)
  const [pair, ...wide] = await ofNetworks(store.deps.config, 'factor', address, rates.secondFactor, `${email}\n`)
  const all: Count = { kind: 'factor_all', subject: await hashSecret(email), rates: rates.secondFactorFromAll }
  const attempts = attemptsOf(id, [pair, ...wide, all])
  const limits = limitsOf(isFamiliar ? [pair] : [pair, ...wide, all], at)
  if (!(await take(store, attempts, limits, at))) {
    throw await tooMany(store, limits, at, 'second-factors', 'Too many codes.')
  }
  return { isFamiliar, succeeded: () => forgetAttempts(store, pair, attempts) }
}

/** Count one sign-in that a client begins with a passkey. Fails with `rate_limit_exceeded`. */
export async function takePasskeyAttempt(store: Store, address: string): Promise<void> {
  const at = store.deps.now()
  const counts = await ofNetworks(store.deps.config, 'passkey_from', address, rates.signInFrom)
  const limits = limitsOf(counts, at)
  if (await take(store, attemptsOf(newId(), counts), limits, at)) return
  throw await tooMany(store, limits, at, 'sign-ins', 'Too many sign-in attempts.')
}

/** Emails that are requested without a sign-in, or that must not tell whether an address has a user. */
export type SilentPurpose = keyof typeof rates.linkRequests

/** An email that is about to be sent. The limits of different purposes are separate. */
export interface EmailAttempt {
  purpose: SilentPurpose | 'verify' | 'claim' | 'invitation'
  /** The recipient. */
  email: string
  /** The client that causes it. */
  address: string
  /** The id of the user who invites. */
  sender?: string
  /** False if nothing will be sent, because the address has no user. It then counts apart from all emails. */
  isSent?: boolean
}

/**
 * Count one email. False if a limit is reached; at that of the whole grid it logs an error. Do not tell an
 * unauthenticated caller: it would reveal what others have requested.
 *
 * Of a silent purpose every request counts for the client address, also one that sends nothing. Otherwise callers could
 * find out which addresses have users, by what is left of their own limit.
 */
export async function takeEmailAttempt(store: Store, attempt: EmailAttempt): Promise<boolean> {
  const { deps: { config, now } } = store
  const { purpose, address } = attempt
  if (isSilent(purpose)) {
    const at = now()
    const requests = await ofNetworks(config, `ask_${purpose}`, address, rates.linkRequests[purpose])
    if (!(await take(store, attemptsOf(newId(), requests), limitsOf(requests, at), at))) return false
  }
  return (await takeOrReachedLimits(store, attempt, store.deps.now())) === undefined
}

/**
 * The same for a caller that may learn about other emails to this recipient. Fails with `rate_limit_exceeded`, which
 * tells when to try again.
 */
export async function requireEmailAttempt(
  store: Store,
  attempt: EmailAttempt & { purpose: 'verify' | 'invitation' },
): Promise<void> {
  const at = store.deps.now()
  const limits = await takeOrReachedLimits(store, attempt, at)
  if (!limits) return
  const isSent = store.deps.email.isConfigured || attempt.purpose !== 'invitation'
  throw await tooMany(store, limits, at, 'emails', isSent ? 'Too many emails were sent.' : 'Too many invitations.')
}

/** Count one email and resolve to undefined, or count nothing and resolve to the limits, some of which are reached. */
async function takeOrReachedLimits(
  store: Store,
  attempt: EmailAttempt,
  at: number,
): Promise<AttemptLimit[] | undefined> {
  const counts = await countsOfEmail(store, attempt)
  const limits = limitsOf(counts, at)
  if (await take(store, attemptsOf(newId(), counts), limits, at)) return undefined
  await logReached(store, limits, 'The hourly email limit of the grid is reached')
  return limits
}

async function countsOfEmail(
  store: Store,
  { purpose, email, address, sender, isSent = true }: EmailAttempt,
): Promise<Count[]> {
  const { config } = store.deps
  const kind = isSent ? 'mail' : 'no_mail'
  // The requests of strangers do not use up what users request themselves, from where they have signed in before.
  const own = isSilent(purpose) && await isFamiliarAddress(store, email, address) ? '\nown' : ''
  const to = { kind: `${kind}_to`, subject: await hashSecret(`${purpose}\n${email}${own}`), rates: rates.emailTo }
  // What is not sent respects this limit without counting: the same happens to known and unknown addresses.
  const total: Count = { kind: 'mail', subject: 'all', rates: [[config.mailsPerHour, hour]], storedAs: kind }
  if (isSilent(purpose)) return [to, total]

  const perHour: Rate = [config.invitationsPerHour, hour]
  const isInvitation = purpose === 'invitation'
  // Without email nobody is bothered by invitations to one address, and an inviter may need another link at once.
  const isBothered = !isInvitation || store.deps.email.isConfigured
  const from = isInvitation ? [perHour] : rates.emailFrom
  const ofShare = Math.ceil(config.mailsPerHour * shareOfGrid)
  return [
    ...(isBothered ? [to] : []),
    ...await ofNetworks(config, `${kind}_from`, address, from, `${purpose}\n`),
    ...(sender === undefined ? [] : [{
      kind: `${kind}_sender`,
      subject: await hashSecret(`${purpose}\n${sender}`),
      rates: [perHour, [3 * config.invitationsPerHour, day]] as const,
    }]),
    ...(purpose === 'verify' ? [] : [{ kind: `${kind}_share`, subject: purpose, rates: [[ofShare, hour]] as const }]),
    total,
  ]
}

function isSilent(purpose: EmailAttempt['purpose']): purpose is SilentPurpose {
  return purpose in rates.linkRequests
}

/** Whether the user has signed in from this client address before. Takes the same work for unknown users. */
async function isFamiliarAddress(store: Store, email: string, address: string): Promise<boolean> {
  return await store.global.sessions.beganAt(email, address) && address !== unknownAddress
}

/**
 * Counts for a client address, and for the /48 of an IPv6 address with a multiple of the rates.
 * See docs/security.md, "Networks". `prefix` is what else the subject consists of.
 */
async function ofNetworks(
  config: Config,
  kind: string,
  address: string,
  allowed: readonly Rate[],
  prefix = '',
): Promise<Count[]> {
  const wide = ipv6Prefix48(address)
  const narrow = { kind, subject: await hashSecret(prefix + address), rates: allowed }
  if (wide === undefined) return [narrow]
  const wideRates = allowed.map(([max, windowMs]): Rate => [max * config.ipv6Factor48, windowMs])
  return [narrow, { kind: `${kind}_wide`, subject: await hashSecret(prefix + wide), rates: wideRates }]
}

/** Add all attempts and resolve to true, or none of them if a limit is reached. */
async function take(store: Store, attempts: Attempt[], limits: AttemptLimit[], at: number): Promise<boolean> {
  const { add, removeOld, has } = store.global.attempts
  const [added] = await store.write([add(attempts, limits, at), removeOld(at - attemptsKeptMs, removedAtOnce)])
  // A repeated statement after a lost response adds nothing but finds its own rows.
  return added.length > 0 || await has(attempts[0].id)
}

function attemptsOf(id: string, counts: Count[]): Attempt[] {
  return counts.map(({ kind, subject, storedAs = kind }, n) => ({ id: `${id}.${n}`, kind: storedAs, subject }))
}

function limitsOf(counts: readonly Count[], at: number): AttemptLimit[] {
  return counts.flatMap(({ kind, subject, rates }) =>
    rates.map(([max, windowMs]) => ({ kind, subject, max, since: at - windowMs }))
  )
}

/** Log an error if the limit of the whole grid, which is the last one, is reached. */
async function logReached(store: Store, limits: AttemptLimit[], message: string): Promise<void> {
  const limit = limits.at(-1)!
  if (limit.subject !== 'all' || await store.global.attempts.blockedSince(limit) === undefined) return
  store.deps.log.error(message, { limit: limit.max })
}

/** Remove all attempts of a user from one address, which `pair` counts, and what this attempt added to other counts. */
async function forgetAttempts(store: Store, pair: Count, [, ...others]: Attempt[]): Promise<void> {
  const { removeAll, remove } = store.global.attempts
  await store.write([removeAll(pair.kind, pair.subject), ...others.map(({ id }) => remove(id))])
}

/** The error of the limit that holds the longest. `name` is what the headers call it. */
async function tooMany(
  store: Store,
  limits: AttemptLimit[],
  at: number,
  name: string,
  what: string,
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
  return limitReached('rate_limit_exceeded', message, reached, retryAfterSeconds)
}

function formatWait(seconds: number): string {
  if (seconds < 90) return `${seconds} seconds`
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`
}
