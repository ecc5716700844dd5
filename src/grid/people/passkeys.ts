/** Passkeys of users: registering them, and signing in with them. See docs/people.md, "Signing in". */
import { requireConfirmed, type SignedInUser } from '../../auth/actor.ts'
import {
  authenticationOptions,
  type IsExpected,
  namedPasskey,
  notAccepted,
  type PasskeySite,
  passkeySite,
  passkeyTimeoutMs,
  registrationOptions,
  verifyAuthentication,
  verifyRegistration,
} from '../../auth/passkeys.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup } from '../../lib/secrets.ts'
import type { ChallengePurpose } from '../../store/global/challenges.ts'
import type { Passkey } from '../../store/global/second-factors.ts'
import type { Store } from '../../store/store.ts'
import { checkName } from '../check-name.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { addFactor } from './second-factor.ts'
import { sendSecondFactorEmail } from './send-email.ts'
import { takePasskeyAttempt } from './throttle.ts'

const maxPasskeys = 20

export function hasPasskeys({ deps }: Store): boolean {
  return passkeySite(deps.config.appUrl) !== undefined
}

/** Options for signing in. `holder` is the page's CSRF token: only that page can respond, once, within five minutes. */
export async function passkeySignInOptions(store: Store, holder: string, address: string): Promise<string> {
  await takePasskeyAttempt(store, address)
  return await challenge(store, 'sign_in', holder, await authenticationOptions(siteOf(store), []))
}

/** Returns options for a confirmation with one of this user's passkeys. Undefined if the user has none. */
export async function passkeyProofOptions(store: Store, holder: string, userId: string): Promise<string | undefined> {
  const known = await store.global.secondFactors.passkeysOf(userId)
  if (known.length === 0 || !hasPasskeys(store)) return undefined
  return await challenge(store, 'confirm', holder, await authenticationOptions(siteOf(store), known))
}

export async function passkeyOptions(
  store: Store,
  holder: string,
  actor: SignedInUser & { user: { name: string } },
): Promise<string> {
  requireConfirmed(actor, store.deps.now())
  const known = await store.global.secondFactors.passkeysOf(actor.user.id)
  return await challenge(store, 'register', holder, await registrationOptions(siteOf(store), actor.user, known))
}

/** Returns the user whose passkey answered `passkeySignInOptions`. Fails with `invalid_input`. */
export async function signInByPasskey(store: Store, holder: string, answer: string): Promise<string> {
  return (await usePasskey(store, 'sign_in', holder, answer)).userId
}

export async function proveByPasskey(store: Store, holder: string, userId: string, answer: string): Promise<void> {
  await usePasskey(store, 'confirm', holder, answer, userId)
}

/** Registers the passkey that answered `passkeyOptions`. Resolves to recovery codes if it is the first factor. */
export async function addPasskey(
  store: Store,
  holder: string,
  actor: SignedInUser,
  input: { name: string; answer: string },
): Promise<string[] | undefined> {
  const { global: { secondFactors }, deps: { now } } = store
  requireConfirmed(actor, now())
  const name = checkName(input.name, 'name')
  if ((await secondFactors.passkeysOf(actor.user.id)).length >= maxPasskeys) {
    throw new GridError('invalid_input', `You can have at most ${maxPasskeys} passkeys.`)
  }
  const passkey = await verifyRegistration(siteOf(store), input.answer, isExpected(store, 'register', holder))
  const row = { ...passkey, id: newId(), userId: actor.user.id, name }
  const codes = await retryOnConflict(async () => {
    if (await secondFactors.passkeyByCredential(passkey.credentialId)) {
      throw invalidInput('This passkey is already registered.', 'passkey')
    }
    return await addFactor(store, actor, row.id, [secondFactors.addPasskey(row, now())])
  })
  sendSecondFactorEmail(store, actor.user.email, 'passkey_added')
  return codes
}

export async function removePasskey(store: Store, actor: SignedInUser, id: string): Promise<void> {
  requireConfirmed(actor, store.deps.now())
  const { id: userId, email } = actor.user
  const { secondFactors } = store.global
  const known = await secondFactors.passkeysOf(userId)
  if (!known.some((passkey) => passkey.id === id)) throw new GridError('not_found', 'You have no such passkey.')
  await store.write([secondFactors.removePasskey(userId, id), secondFactors.removeCodesWithoutFactor(userId)])
  sendSecondFactorEmail(store, email, 'passkey_removed')
}

async function usePasskey(
  store: Store,
  purpose: ChallengePurpose,
  holder: string,
  answer: string,
  userId?: string,
): Promise<Passkey> {
  const { secondFactors } = store.global
  const passkey = await secondFactors.passkeyByCredential(namedPasskey(answer))
  if (!passkey || (userId !== undefined && passkey.userId !== userId)) throw notAccepted()
  const counter = await verifyAuthentication(siteOf(store), answer, passkey, isExpected(store, purpose, holder))
  const [used] = await store.write([secondFactors.usePasskey(passkey.id, counter, newId(), store.deps.now())])
  if (used.length === 0) throw notAccepted()
  return passkey
}

async function challenge(
  { global, write, deps }: Store,
  purpose: ChallengePurpose,
  holder: string,
  options: { challenge: string },
): Promise<string> {
  await write([global.challenges.add({
    hash: hashForLookup(options.challenge),
    purpose,
    holder: hashForLookup(holder),
    expiresAt: deps.now() + passkeyTimeoutMs,
  })])
  return JSON.stringify(options)
}

/** Consumes a challenge of this purpose and holder, whether or not the response is valid. */
function isExpected({ global, write, deps }: Store, purpose: ChallengePurpose, holder: string): IsExpected {
  return async (challenge) => {
    const hash = hashForLookup(challenge)
    const take = global.challenges.take(hash, purpose, hashForLookup(holder), newId(), deps.now())
    return (await write([take]))[0].length > 0
  }
}

function siteOf({ deps }: Store): PasskeySite {
  const site = passkeySite(deps.config.appUrl)
  if (site) return site
  throw invalidInput('Passkeys need this grid to have a host name and HTTPS.', 'passkey')
}
