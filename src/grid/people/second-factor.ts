/** Users' second factor: authenticator apps and recovery codes. See docs/people.md, "Signing in". */
import { callingUser, requireConfirmed, type SignedInUser } from '../../auth/actor.ts'
import { newTotpSecret, totpStep, totpUri } from '../../auth/totp.ts'
import { GridError, invalidInput } from '../../errors.ts'
import { newId } from '../../lib/id.ts'
import { hashForLookup, mintRecoveryCode } from '../../lib/secrets.ts'
import type { AccountStore } from '../../store/account.ts'
import type { Passkey } from '../../store/global/second-factors.ts'
import type { Statement } from '../../store/sql.ts'
import type { Store } from '../../store/store.ts'
import { authorize } from '../authorize.ts'
import { retryOnConflict } from '../retry-on-conflict.ts'
import { changeUser, findUser } from './operator.ts'
import { checkPassword } from './people.ts'
import { sendSecondFactorEmail } from './send-email.ts'
import { takeSecondFactorAttempt } from './throttle.ts'

const recoveryCodeCount = 10

export interface SecondFactors {
  passkeys: Passkey[]
  hasTotp: boolean
  /** The number of unused recovery codes. */
  codesLeft: number
}

export function isProtected({ passkeys, hasTotp }: SecondFactors): boolean {
  return passkeys.length > 0 || hasTotp
}

export async function listSecondFactors({ global }: Store, userId: string): Promise<SecondFactors> {
  const [passkeys, totp, codesLeft] = await Promise.all([
    global.secondFactors.passkeysOf(userId),
    global.secondFactors.totpOf(userId),
    global.secondFactors.codesOf(userId),
  ])
  return { passkeys, hasTotp: totp !== undefined && totp.confirmedAt !== null, codesLeft }
}

/** Verifies the second factor with an app code or a recovery code. Each code works once. */
export async function useSecondFactorCode(
  store: Store,
  user: { id: string; email: string },
  code: string,
  address: string,
): Promise<void> {
  const attempt = await takeSecondFactorAttempt(store, user.email, address)
  const digits = code.replace(/\s/g, '')
  const isRecoveryCode = !/^\d{6}$/.test(digits)
  const isUsed = isRecoveryCode ? await useRecoveryCode(store, user.id, code) : await useTotp(store, user.id, digits)
  if (!isUsed) throw wrongCode()
  await attempt.succeeded()
  if (isRecoveryCode) sendSecondFactorEmail(store, user.email, 'code_used')
}

/** Confirms the identity of a user without a second factor. Resolves to the password hash. */
export async function confirmByPassword(
  store: Store,
  user: { id: string; email: string },
  password: string,
  address: string,
): Promise<string> {
  const passwordHash = (await store.global.users.byId(user.id))?.passwordHash
  const wrong = invalidInput('This is not your password.', 'password')
  await checkPassword(store, { email: user.email, passwordHash }, { password, address }, wrong)
  return passwordHash!
}

/** Starts the set-up of an authenticator app with a new secret. An unfinished set-up ends. */
export async function beginTotp(store: Store, actor: SignedInUser): Promise<void> {
  const at = store.deps.now()
  requireConfirmed(actor, at)
  const { id } = actor.user
  const sealed = await store.seal('totps', id, await newTotpSecret())
  const [begun] = await store.write([store.global.secondFactors.setTotp(id, sealed, at)])
  if (begun.length === 0) throw hasTotpAlready()
}

/** Returns the secret of an unfinished set-up, and its URI for authenticator apps. */
export async function pendingTotp(store: Store, actor: SignedInUser): Promise<{ secret: string; uri: string }> {
  requireConfirmed(actor, store.deps.now())
  const { secret } = await readPendingTotp(store, actor.user.id)
  const issuer = new URL(store.deps.config.appUrl).host
  return { secret, uri: await totpUri(secret, { issuer, label: actor.user.email }) }
}

/** Finishes the set-up with a first code. Resolves to recovery codes if it is the first factor. */
export async function finishTotp(
  store: Store,
  actor: SignedInUser,
  code: string,
  address: string,
): Promise<string[] | undefined> {
  const { user } = actor
  const at = store.deps.now()
  requireConfirmed(actor, at)
  const { secret, tokenIv } = await readPendingTotp(store, user.id)
  const attempt = await takeSecondFactorAttempt(store, user.email, address)
  const step = await totpStep(secret, code.replace(/\s/g, ''), at)
  if (step === undefined) throw wrongCode()
  const id = newId()
  const codes = await retryOnConflict(async () => {
    if ((await readPendingTotp(store, user.id)).tokenIv !== tokenIv) throw noPendingTotp()
    const { secondFactors } = store.global
    return await addFactor(store, actor, id, secondFactors.confirmTotp(user.id, tokenIv, step, id, at))
  })
  await attempt.succeeded()
  sendSecondFactorEmail(store, user.email, 'totp_added')
  return codes
}

/** Removes the authenticator app. Fails with `confirmation_required` or `not_found`. */
export async function removeTotp(store: Store, actor: SignedInUser): Promise<void> {
  requireConfirmed(actor, store.deps.now())
  const { id, email } = actor.user
  const { secondFactors } = store.global
  if (!await secondFactors.totpOf(id)) throw new GridError('not_found', 'You have no authenticator app.')
  await store.write([secondFactors.removeTotp(id), secondFactors.removeCodesWithoutFactor(id)])
  sendSecondFactorEmail(store, email, 'totp_removed')
}

/** Replaces the recovery codes. Fails with `confirmation_required`, or `invalid_input` without a second factor. */
export async function replaceRecoveryCodes(store: Store, actor: SignedInUser): Promise<string[]> {
  requireConfirmed(actor, store.deps.now())
  const { id, email } = actor.user
  if (!isProtected(await listSecondFactors(store, id))) {
    throw new GridError('invalid_input', 'Add a passkey or an authenticator app first.')
  }
  const { codes, statements } = newRecoveryCodes(store, id)
  await store.write(statements)
  sendSecondFactorEmail(store, email, 'codes_replaced')
  return codes
}

/**
 * Stores a new factor of the user. If it is the first one, resolves to new recovery codes and ends all other sessions,
 * because they started without it. `own` is the id of the new passkey, or of the attempt that confirms the app.
 */
export async function addFactor(
  store: Store,
  { user: { id }, sessionId }: SignedInUser,
  own: string,
  statements: Statement[],
): Promise<string[] | undefined> {
  const isFirst = !isProtected(await listSecondFactors(store, id))
  const first = isFirst ? newRecoveryCodes(store, id) : undefined
  await store.write([
    store.global.secondFactors.requireFirst(id, own, isFirst),
    ...statements,
    ...(first?.statements ?? []),
    ...(isFirst ? [store.global.sessions.endOthers(id, sessionId, store.deps.now())] : []),
  ])
  return first?.codes
}

function newRecoveryCodes({ global }: Store, userId: string) {
  const codes = Array.from({ length: recoveryCodeCount }, mintRecoveryCode)
  const hashes = codes.map((code) => hashForLookup(plainCode(code)))
  return { codes, statements: global.secondFactors.setCodes(userId, hashes) }
}

async function useRecoveryCode({ global, write }: Store, userId: string, code: string): Promise<boolean> {
  const [used] = await write([global.secondFactors.useCode(userId, hashForLookup(plainCode(code)), newId())])
  return used.length > 0
}

async function useTotp(store: Store, userId: string, code: string): Promise<boolean> {
  const { secondFactors } = store.global
  const stored = await secondFactors.totpOf(userId)
  if (!stored || stored.confirmedAt === null) return false
  const step = await totpStep(await store.open('totps', userId, stored), code, store.deps.now())
  if (step === undefined) return false
  const [used] = await store.write([secondFactors.useTotp(userId, stored.tokenIv, step, newId())])
  return used.length > 0
}

async function readPendingTotp(store: Store, userId: string): Promise<{ secret: string; tokenIv: string }> {
  const stored = await store.global.secondFactors.totpOf(userId)
  if (!stored) throw noPendingTotp()
  if (stored.confirmedAt !== null) throw hasTotpAlready()
  return { secret: await store.open('totps', userId, stored), tokenIv: stored.tokenIv }
}

/** Normalises a recovery code for hashing, because users may omit the hyphens and type capitals. */
function plainCode(code: string): string {
  return code.toLowerCase().replace(/[^0-9a-z]/g, '')
}

function noPendingTotp(): GridError {
  return new GridError('invalid_input', 'Start the set-up of the authenticator app again.')
}

function hasTotpAlready(): GridError {
  return new GridError('invalid_input', 'You already have an authenticator app. Remove it first.')
}

function wrongCode(): GridError {
  return invalidInput('This code is wrong, was used already, or is too old.', 'code')
}

/**
 * Removes another member's second factor and ends their sessions. The caller must own all of the member's accounts,
 * because the factor protects all of them. Fails with `confirmation_required`, `member_not_found` or `invalid_input`.
 */
export async function resetMemberSecondFactor(
  store: Store,
  account: AccountStore,
  userId: string,
): Promise<{ userId: string }> {
  const caller = callingUser(account.actor)
  const email = await retryOnConflict(async () => {
    const { precondition } = await authorize(account, 'own')
    requireConfirmed(caller, store.deps.now())
    const member = await account.read.team.member(userId)
    if (!member) throw new GridError('member_not_found', 'This account has no member with that id.')
    if (userId === caller.userId) {
      throw new GridError('invalid_input', 'Change your own second factor under Settings, Security.')
    }
    if (!member.hasSecondFactor) throw hasNone()
    const { secondFactors } = store.global
    if (await secondFactors.isBeyond(caller.userId, userId)) {
      throw new GridError(
        'not_allowed',
        'This user also belongs to an account that you do not own. Ask the operator of the grid to reset the second factor.',
      )
    }
    await account.write([
      ...precondition,
      account.change.team.requireRole(userId, [member.role]),
      secondFactors.requireOwned(caller.userId, userId),
      ...resetStatements(store, userId),
    ])
    return member.email
  })
  sendSecondFactorEmail(store, email, 'reset')
  return { userId }
}

/** Removes a user's second factor as the operator, and ends their sessions. */
export async function resetSecondFactor(store: Store, email: string, command: string): Promise<{ userId: string }> {
  const user = await findUser(store, email)
  if (!isProtected(await listSecondFactors(store, user.id))) throw hasNone()
  await changeUser(store, user, command, resetStatements(store, user.id))
  sendSecondFactorEmail(store, user.email, 'reset')
  return { userId: user.id }
}

function resetStatements({ global, deps }: Store, userId: string): Statement[] {
  return [...global.secondFactors.removeAll(userId), global.sessions.endOthers(userId, '', deps.now())]
}

function hasNone(): GridError {
  return new GridError('invalid_input', 'This user has no second factor.')
}
