/** Limits of sign-in attempts and emails. See docs/people.md, "Signing in". */
import { unknownAddress } from '../../lib/http/client-address.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup } from '../../lib/secrets.ts'
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

/** The rates of each limit, all of which apply together. */
const rates = {
  /** Per email address and client address. Each step doubles the pause. */
  signIn: [
    ...[[4, 30 * second], [5, minute], [6, 2 * minute], [7, 4 * minute], [8, 8 * minute], [9, 16 * minute]],
    ...[[10, hour], [20, day]],
  ],
  /** Per email address, from all clients. `signInInCrowd` applies when this or the total is exceeded. */
  signInCrowd: [[100, hour]],
  signInInCrowd: [[1, 15 * minute]],
  /** Per client address, for all users. Generous, because a whole office may share an address. */
  signInFrom: [[30, minute], [300, hour]],
  /** Second-factor codes per user, from one client address and from all unfamiliar addresses. */
  secondFactor: [[5, 5 * minute], [10, hour], [20, day]],
  secondFactorFromAll: [[30, day]],
  emailTo: [[1, 5 * minute], [3, day]],
  emailFrom: [[5, hour]],
  registrations: [[60, hour]],
  pauses: [[1, hour]],
  /** Email links of one purpose requested by one client address, whether or not they are sent. */
  linkRequests: { sign_in: [[20, hour]], reset: [[20, hour]], change_email: [[5, hour]] },
} as const satisfies Record<string, unknown>

/** Claims and invitations may each use this share of the grid's hourly emails. The rest is for email links. */
const shareOfGrid = 0.4
/** Failed sign-ins of the whole grid. Beyond them, addresses from which the user has never signed in must wait. */
const signInsPerHour = 6_000
/** Invitations by one user per hour; three times as many per day. */
const invitationsPerHour = 100

interface SignInAttempt {
  isFamiliar: boolean
  /** Call this after a correct password: it removes the attempts of this user and client from the counters. */
  succeeded(): Promise<void>
}

/**
 * Counts one attempt to sign in as `email` from the client at `address`, before the password is verified and also for
 * unknown users. Fails with `rate_limit_exceeded` and the time to wait. From a familiar address only the limit of this
 * user and address applies, so others' guesses do not lock a user out.
 */
export async function takeSignInAttempt(store: Store, email: string, address: string): Promise<SignInAttempt> {
  const at = store.deps.now()
  const isFamiliar = await isFamiliarAddress(store, email, address)
  const crowd: Count = { kind: 'sign_in_crowd', subject: hashForLookup(email), rates: rates.signInCrowd }
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
  const [pair, ...pairWide] = ofNetworks('sign_in', address, [...rates.signIn, ...inCrowd], `${email}\n`)
  const others = [...pairWide, ...ofNetworks('sign_in_from', address, rates.signInFrom)]
  const limited = isFamiliar ? [pair] : [pair, ...others]
  const succeeded = await take(store, [pair, crowd, ...others, total], signIns, limited)
  return { isFamiliar, succeeded }
}

/** Counts one second-factor code before it is verified. Fails with `rate_limit_exceeded`. */
export async function takeSecondFactorAttempt(store: Store, email: string, address: string): Promise<SignInAttempt> {
  const isFamiliar = await isFamiliarAddress(store, email, address)
  const [pair, ...wide] = ofNetworks('factor', address, rates.secondFactor, `${email}\n`)
  const all: Count = { kind: 'factor_all', subject: hashForLookup(email), rates: rates.secondFactorFromAll }
  const counts = [pair, ...wide, all]
  const refusal = { name: 'second-factors', what: 'Too many codes.' }
  return { isFamiliar, succeeded: await take(store, counts, refusal, isFamiliar ? [pair] : counts) }
}

/** Counts one passkey sign-in started by a client. Fails with `rate_limit_exceeded`. */
export async function takePasskeyAttempt(store: Store, address: string): Promise<void> {
  await take(store, ofNetworks('passkey_from', address, rates.signInFrom), signIns)
}

/** Counts one OAuth client registration. Fails with `rate_limit_exceeded`. */
export async function takeRegistration(store: Store, address: string): Promise<void> {
  const refusal = { name: 'registrations', what: 'Too many registrations from this address.' }
  await take(store, ofNetworks('registration', address, rates.registrations), refusal)
}

const signIns = { name: 'sign-ins', what: 'Too many sign-in attempts.' }

/** Counts an attempt. Fails if a limit of `limited` is reached. Resolves to a function that calls `forgetAttempts`. */
export async function take(
  store: Store,
  counts: Count[],
  { name, what }: { name: string; what: string },
  limited = counts,
): Promise<() => Promise<void>> {
  const at = store.deps.now()
  const attempts = attemptsOf(newId(), counts)
  const limits = limitsOf(limited, at)
  if (!(await takeAttempts(store, attempts, limits, at))) throw await tooMany(store, limits, at, name, what)
  return () => forgetAttempts(store, counts[0], attempts)
}

/**
 * Counts an attempt and resolves to undefined, or counts nothing and resolves to the limits if one of them is reached.
 */
export async function tryTake(
  store: Store,
  counts: Count[],
  at = store.deps.now(),
): Promise<AttemptLimit[] | undefined> {
  const limits = limitsOf(counts, at)
  return await takeAttempts(store, attemptsOf(newId(), counts), limits, at) ? undefined : limits
}

/** Purposes that need no sign-in, or must not reveal whether an address has a user. */
export type SilentPurpose = keyof typeof rates.linkRequests

/** An email to be sent. Each purpose has its own limits. */
export interface EmailAttempt {
  purpose: SilentPurpose | 'verify' | 'claim' | 'invitation'
  email: string
  address: string
  sender?: string
  /** False if nothing will be sent because the address has no user. The attempt then counts separately. */
  isSent?: boolean
}

/**
 * Counts one email. Resolves to false if a limit is reached. Never report that to an unauthenticated caller, because it
 * would reveal others' requests. For a silent purpose, requests that send nothing count too, or callers could find out
 * which addresses have users.
 */
export async function takeEmailAttempt(store: Store, attempt: EmailAttempt): Promise<boolean> {
  const { purpose, address } = attempt
  if (isSilent(purpose)) {
    const requests = ofNetworks(`ask_${purpose}`, address, rates.linkRequests[purpose])
    if (await tryTake(store, requests)) return false
  }
  return !await tryTakeEmail(store, await countsOfEmail(store, attempt))
}

/** Like `takeEmailAttempt`, for a caller that may learn about other emails to this recipient. */
export async function requireEmailAttempt(
  store: Store,
  attempt: EmailAttempt & { purpose: 'verify' | 'invitation' },
): Promise<void> {
  const at = store.deps.now()
  const limits = await tryTakeEmail(store, await countsOfEmail(store, attempt), at)
  if (!limits) return
  const isSent = store.deps.email.isConfigured || attempt.purpose !== 'invitation'
  throw await tooMany(store, limits, at, 'emails', isSent ? 'Too many emails were sent.' : 'Too many invitations.')
}

/** Like `tryTake`, but logs an error if the limit of the whole grid is reached. */
async function tryTakeEmail(store: Store, counts: Count[], at?: number): Promise<AttemptLimit[] | undefined> {
  const limits = await tryTake(store, counts, at)
  if (limits) await logReached(store, limits, 'The hourly email limit of the grid is reached')
  return limits
}

async function countsOfEmail(
  store: Store,
  { purpose, email, address, sender, isSent = true }: EmailAttempt,
): Promise<Count[]> {
  const { limits } = store.deps
  const kind = isSent ? 'mail' : 'no_mail'
  // Anonymous requests never use up the limits of users at addresses where they have signed in before.
  const own = isSilent(purpose) && await isFamiliarAddress(store, email, address) ? '\nown' : ''
  const to = { kind: `${kind}_to`, subject: hashForLookup(`${purpose}\n${email}${own}`), rates: rates.emailTo }
  // An email that is not sent obeys this limit without counting, so known and unknown addresses behave alike.
  const total: Count = { kind: 'mail', subject: 'all', rates: [[limits.emailsPerHour, hour]], storedAs: kind }
  if (isSilent(purpose)) return [to, total]

  const perHour: Rate = [invitationsPerHour, hour]
  const isInvitation = purpose === 'invitation'
  // Without email, repeated invitations disturb nobody, and an inviter may need another link immediately.
  const isBothered = !isInvitation || store.deps.email.isConfigured
  const from = isInvitation ? [perHour] : rates.emailFrom
  const ofShare = Math.ceil(limits.emailsPerHour * shareOfGrid)
  return [
    ...(isBothered ? [to] : []),
    ...ofNetworks(`${kind}_from`, address, from, `${purpose}\n`),
    ...(sender === undefined ? [] : [{
      kind: `${kind}_sender`,
      subject: hashForLookup(`${purpose}\n${sender}`),
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

/**
 * Counts one email of an optional feature to a recipient. Each kind has a share of the grid's emails. Resolves to false
 * if a limit is reached, and logs an error for the grid's limit.
 */
export async function takeEmailOfKind(
  store: Store,
  { kind, email, rates, share }: { kind: string; email: string; rates: readonly Rate[]; share: number },
): Promise<boolean> {
  const { emailsPerHour } = store.deps.limits
  return !await tryTakeEmail(store, [
    { kind: 'mail_to', subject: hashForLookup(`${kind}\n${email}`), rates },
    { kind: 'mail_share', subject: kind, rates: [[Math.ceil(emailsPerHour * share), hour]] },
    { kind: 'mail', subject: 'all', rates: [[emailsPerHour, hour]] },
  ])
}

/**
 * Counts one notice of paused conversations to an account's owners. Resolves to false if they got one in the last hour.
 */
export async function takePauseAttempt(store: Store, account: string): Promise<boolean> {
  const counts: Count[] = [{ kind: 'pauses', subject: account, rates: rates.pauses }]
  // Read first, because otherwise every check of pending pauses would commit.
  const [limit] = limitsOf(counts, store.deps.now())
  return await store.global.attempts.blockedSince(limit) === undefined && !await tryTake(store, counts)
}
