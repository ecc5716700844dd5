/**
 * Which attempts to sign in and which emails count, towards which limits.
 *
 * See docs/security.md, "Sign-in limits" and "Email limits".
 */
import { unknownAddress } from '../../lib/http/client-address.ts'
import { newId } from '../../lib/id.ts'
import { hashSecret } from '../../lib/secrets.ts'
import { day, hour, minute, second } from '../../lib/time.ts'
import type { AttemptLimit } from '../../store/global/attempts.ts'
import type { Store } from '../../store/store.ts'
import {
  attemptsOf,
  type Count,
  forgetAttempts,
  limitsOf,
  logReached,
  ofNetworks,
  type Rate,
  takeAttempts,
  tooMany,
} from './attempts.ts'

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
  /** Digests to one recipient, over all accounts. */
  digestTo: [[12, hour]],
  /** Emails to the owners of an account about conversations that were paused. */
  pauses: [[1, hour]],
  /** Notifications to all browsers of one user in one account, and how many of them may be tests. */
  push: [[120, hour]],
  testPush: [[5, minute], [30, hour]],
  /** Email links of one purpose that one client address requests, whether or not they are sent. */
  linkRequests: { sign_in: [[20, hour]], reset: [[20, hour]], change_email: [[5, hour]] },
} as const satisfies Record<string, unknown>

/** The part of the hourly emails of the grid that claims may have, and invitations. The rest is for email links. */
const shareOfGrid = 0.4
/** The part that digests may have. */
const shareOfDigests = 0.1
/** Failed sign-ins of the whole grid; beyond, client addresses that the user has not signed in from wait. */
const signInsPerHour = 6_000
/** Invitations of one user; in a day three times as many. */
const invitationsPerHour = 100

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
  const at = store.deps.now()
  const id = newId()
  const isFamiliar = await isFamiliarAddress(store, email, address)
  const crowd: Count = { kind: 'sign_in_crowd', subject: await hashSecret(email), rates: rates.signInCrowd }
  const total: Count = { kind: 'sign_in_all', subject: 'all', rates: [[signInsPerHour, hour]] }
  const [isCrowded, isBusy] = await Promise.all(
    [crowd, total].map(async (count) =>
      await store.global.attempts.blockedSince(limitsOf([count], at)[0]) !== undefined
    ),
  )
  if (isBusy) {
    store.deps.log.error('The hourly limit of failed sign-ins of the grid is reached', { limit: signInsPerHour })
  }
  const inCrowd = (isCrowded || isBusy) && !isFamiliar ? rates.signInInCrowd : []
  const [pair, ...pairWide] = await ofNetworks('sign_in', address, [...rates.signIn, ...inCrowd], `${email}\n`)
  const others = [
    ...pairWide,
    ...await ofNetworks('sign_in_from', address, rates.signInFrom),
  ]
  const attempts = attemptsOf(id, [pair, crowd, ...others, total])
  const limits = limitsOf([pair, ...(isFamiliar ? [] : others)], at)
  if (!(await takeAttempts(store, attempts, limits, at))) {
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
  const [pair, ...wide] = await ofNetworks('factor', address, rates.secondFactor, `${email}\n`)
  const all: Count = { kind: 'factor_all', subject: await hashSecret(email), rates: rates.secondFactorFromAll }
  const attempts = attemptsOf(id, [pair, ...wide, all])
  const limits = limitsOf(isFamiliar ? [pair] : [pair, ...wide, all], at)
  if (!(await takeAttempts(store, attempts, limits, at))) {
    throw await tooMany(store, limits, at, 'second-factors', 'Too many codes.')
  }
  return { isFamiliar, succeeded: () => forgetAttempts(store, pair, attempts) }
}

/** Count one sign-in that a client begins with a passkey. Fails with `rate_limit_exceeded`. */
export async function takePasskeyAttempt(store: Store, address: string): Promise<void> {
  const at = store.deps.now()
  const counts = await ofNetworks('passkey_from', address, rates.signInFrom)
  const limits = limitsOf(counts, at)
  if (await takeAttempts(store, attemptsOf(newId(), counts), limits, at)) return
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
  const { deps: { now } } = store
  const { purpose, address } = attempt
  if (isSilent(purpose)) {
    const at = now()
    const requests = await ofNetworks(`ask_${purpose}`, address, rates.linkRequests[purpose])
    if (!(await takeAttempts(store, attemptsOf(newId(), requests), limitsOf(requests, at), at))) return false
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
  if (await takeAttempts(store, attemptsOf(newId(), counts), limits, at)) return undefined
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

  const perHour: Rate = [invitationsPerHour, hour]
  const isInvitation = purpose === 'invitation'
  // Without email nobody is bothered by invitations to one address, and an inviter may need another link at once.
  const isBothered = !isInvitation || store.deps.email.isConfigured
  const from = isInvitation ? [perHour] : rates.emailFrom
  const ofShare = Math.ceil(config.mailsPerHour * shareOfGrid)
  return [
    ...(isBothered ? [to] : []),
    ...await ofNetworks(`${kind}_from`, address, from, `${purpose}\n`),
    ...(sender === undefined ? [] : [{
      kind: `${kind}_sender`,
      subject: await hashSecret(`${purpose}\n${sender}`),
      rates: [perHour, [3 * invitationsPerHour, day]] as const,
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

/** Count one digest to a recipient. False if a limit is reached; at that of the whole grid it logs an error. */
export async function takeDigestAttempt(store: Store, email: string): Promise<boolean> {
  const { config, now } = store.deps
  const at = now()
  const counts: Count[] = [
    { kind: 'mail_to', subject: await hashSecret(`digest\n${email}`), rates: rates.digestTo },
    { kind: 'mail_share', subject: 'digest', rates: [[Math.ceil(config.mailsPerHour * shareOfDigests), hour]] },
    { kind: 'mail', subject: 'all', rates: [[config.mailsPerHour, hour]] },
  ]
  const limits = limitsOf(counts, at)
  if (await takeAttempts(store, attemptsOf(newId(), counts), limits, at)) return true
  await logReached(store, limits, 'The hourly email limit of the grid is reached')
  return false
}

/** Count one notice of paused conversations to the owners of an account. False if they were told in the last hour. */
export async function takePauseAttempt(store: Store, account: string): Promise<boolean> {
  const at = store.deps.now()
  const counts: Count[] = [{ kind: 'pauses', subject: account, rates: rates.pauses }]
  const [limit] = limitsOf(counts, at)
  // Asked first, because every look at pauses that wait would be a commit.
  if (await store.global.attempts.blockedSince(limit) !== undefined) return false
  return await takeAttempts(store, attemptsOf(newId(), counts), [limit], at)
}

/** Count one notification to a browser of a user in an account. False if their limit is reached. */
export async function takePushAttempt(store: Store, account: string, userId: string): Promise<boolean> {
  const at = store.deps.now()
  const counts = [await pushCount(account, userId)]
  return await takeAttempts(store, attemptsOf(newId(), counts), limitsOf(counts, at), at)
}

/** Count one test of the notifications of a user in an account. Fails with `rate_limit_exceeded`. */
export async function takePushTest(store: Store, account: string, userId: string): Promise<void> {
  const at = store.deps.now()
  const { subject } = await pushCount(account, userId)
  const counts: Count[] = [{ kind: 'push_test', subject, rates: rates.testPush }]
  const limits = limitsOf(counts, at)
  if (await takeAttempts(store, attemptsOf(newId(), counts), limits, at)) return
  throw await tooMany(store, limits, at, 'notifications', 'Too many tests.')
}

async function pushCount(account: string, userId: string): Promise<Count> {
  return { kind: 'push', subject: await hashSecret(`${account}\n${userId}`), rates: rates.push }
}
