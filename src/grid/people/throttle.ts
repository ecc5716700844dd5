/** Which attempts and emails count. See docs/people.md, "Signing in". */
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
  /** One client address for all users. Generous, because an office may share an address. */
  signInFrom: [[30, minute], [300, hour]],
  /** Second factors of one user from one client address, and from all that are not familiar. */
  secondFactor: [[5, 5 * minute], [10, hour], [20, day]],
  secondFactorFromAll: [[30, day]],
  emailTo: [[1, 5 * minute], [3, day]],
  emailFrom: [[5, hour]],
  registrations: [[60, hour]],
  pauses: [[1, hour]],
  /** Email links of one purpose that one client address requests, whether or not they are sent. */
  linkRequests: { sign_in: [[20, hour]], reset: [[20, hour]], change_email: [[5, hour]] },
} as const satisfies Record<string, unknown>

/** The part of the hourly emails of the grid that claims may have, and invitations. The rest is for email links. */
const shareOfGrid = 0.4
/** Failed sign-ins of the whole grid; beyond, client addresses that the user has not signed in from wait. */
const signInsPerHour = 6_000
/** Invitations of one user; in a day three times as many. */
const invitationsPerHour = 100

interface SignInAttempt {
  isFamiliar: boolean
  /** Call it after the right password: removes the attempts of this user and client from the limits. */
  succeeded(): Promise<void>
}

/**
 * Count one attempt to sign in as `email` from the client at `address`, before the password is verified and also for
 * unknown users. Fails with `rate_limit_exceeded`, which tells when to try again. From a familiar address only the
 * limit of this user and address applies: what others guess does not lock a user out.
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

/** Count one code of a second factor, before it is verified. Fails with `rate_limit_exceeded`. */
export async function takeSecondFactorAttempt(store: Store, email: string, address: string): Promise<SignInAttempt> {
  const isFamiliar = await isFamiliarAddress(store, email, address)
  const [pair, ...wide] = ofNetworks('factor', address, rates.secondFactor, `${email}\n`)
  const all: Count = { kind: 'factor_all', subject: hashForLookup(email), rates: rates.secondFactorFromAll }
  const counts = [pair, ...wide, all]
  const refusal = { name: 'second-factors', what: 'Too many codes.' }
  return { isFamiliar, succeeded: await take(store, counts, refusal, isFamiliar ? [pair] : counts) }
}

/** Count one sign-in that a client begins with a passkey. Fails with `rate_limit_exceeded`. */
export async function takePasskeyAttempt(store: Store, address: string): Promise<void> {
  await take(store, ofNetworks('passkey_from', address, rates.signInFrom), signIns)
}

/** Count one OAuth client that registers itself. Fails with `rate_limit_exceeded`. */
export async function takeRegistration(store: Store, address: string): Promise<void> {
  const refusal = { name: 'registrations', what: 'Too many registrations from this address.' }
  await take(store, ofNetworks('registration', address, rates.registrations), refusal)
}

const signIns = { name: 'sign-ins', what: 'Too many sign-in attempts.' }

/** Count an attempt, which `limited` can refuse. Resolves to a function that removes what the first one counts. */
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

/** Count an attempt, and resolve to undefined; or count nothing and resolve to the limits, one of which is reached. */
export async function tryTake(
  store: Store,
  counts: Count[],
  at = store.deps.now(),
): Promise<AttemptLimit[] | undefined> {
  const limits = limitsOf(counts, at)
  return await takeAttempts(store, attemptsOf(newId(), counts), limits, at) ? undefined : limits
}

/** Emails that are requested without a sign-in, or that must not reveal whether an address has a user. */
export type SilentPurpose = keyof typeof rates.linkRequests

/** An email that is about to be sent. The limits of different purposes are separate. */
export interface EmailAttempt {
  purpose: SilentPurpose | 'verify' | 'claim' | 'invitation'
  email: string
  address: string
  sender?: string
  /** False if nothing will be sent, because the address has no user. It then counts apart from all emails. */
  isSent?: boolean
}

/**
 * Count one email. False if a limit is reached: do not tell an unauthenticated caller, it would reveal what others have
 * requested. Of a silent purpose every request counts, also one that sends nothing, or callers could find out which
 * addresses have users.
 */
export async function takeEmailAttempt(store: Store, attempt: EmailAttempt): Promise<boolean> {
  const { purpose, address } = attempt
  if (isSilent(purpose)) {
    const requests = ofNetworks(`ask_${purpose}`, address, rates.linkRequests[purpose])
    if (await tryTake(store, requests)) return false
  }
  return !await tryTakeEmail(store, await countsOfEmail(store, attempt))
}

/** As `takeEmailAttempt`, for a caller that may learn about other emails to this recipient. */
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

/** As `tryTake`. If the limit of the whole grid is reached, it logs an error. */
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
  // The requests of strangers do not use up what users request themselves, from where they have signed in before.
  const own = isSilent(purpose) && await isFamiliarAddress(store, email, address) ? '\nown' : ''
  const to = { kind: `${kind}_to`, subject: hashForLookup(`${purpose}\n${email}${own}`), rates: rates.emailTo }
  // What is not sent respects this limit without counting: the same happens to known and unknown addresses.
  const total: Count = { kind: 'mail', subject: 'all', rates: [[limits.emailsPerHour, hour]], storedAs: kind }
  if (isSilent(purpose)) return [to, total]

  const perHour: Rate = [invitationsPerHour, hour]
  const isInvitation = purpose === 'invitation'
  // Without email no one is bothered by invitations to one address, and an inviter may need another link at once.
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
 * Count one email of an optional feature to a recipient: of one kind, which has a share of the emails of the grid. False if
 * a limit is reached; at that of the whole grid it logs an error.
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

/** Count one notice of paused conversations to the owners of an account. False if they were told in the last hour. */
export async function takePauseAttempt(store: Store, account: string): Promise<boolean> {
  const counts: Count[] = [{ kind: 'pauses', subject: account, rates: rates.pauses }]
  // Asked first, because every look at pauses that wait would be a commit.
  const [limit] = limitsOf(counts, store.deps.now())
  return await store.global.attempts.blockedSince(limit) === undefined && !await tryTake(store, counts)
}
