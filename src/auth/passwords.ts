/** User passwords: validation, hashing and verification. See docs/people.md, "Signing in". */
import { isCommonPassword } from './common-passwords.ts'
import { GridError, limitReached } from '../errors.ts'
import { Semaphore } from '../lib/limits/semaphore.ts'
import { once } from '../lib/lazy.ts'
import { characterCount } from '../lib/text.ts'

const minLength = 10
const maxLength = 200
/** Maximum length in UTF-16 units. Checked before normalisation, because NFKC can expand one character into many. */
const maxUnits = 2 * maxLength
/** Argon2id parameters. A stored hash contains its own parameters. @see RFC 9106 §4 */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32 }
/** Limits on concurrent hashing. A hash takes 19 MiB of memory and a core. See docs/security.md, "Overload". */
const capacity = { maxConcurrent: 2, maxQueued: 16 }
const hashing = new Semaphore(capacity)
/**
 * Argon2, which runs on the runtime's threads and does not block the event loop. Loaded on first use, because most
 * processes never need it.
 */
const argon2 = once(() => import('@node-rs/argon2'))

/**
 * The hash that is verified for unknown users, so that sign-in takes as long as for known users. See docs/security.md,
 * "Requests".
 */
const dummyHash = '$argon2id$v=19$m=19456,t=2,p=1$33dlXvzD+BYWARMf5jzNZA$gUArijg2zyFQEHDRlOMiM98LAUsf+u/20mu0twshsag'

/**
 * Hashes a new password to a PHC string. Fails with `invalid_input` if it is too short, too long or too common, and
 * with `rate_limit_exceeded` if too many passwords are being hashed. Takes priority over anonymous sign-ins, because
 * its callers have proved their identity with a link or the current password.
 */
export async function hashPassword(password: string): Promise<string> {
  const normal = normalised(password)
  const length = normal === undefined ? Infinity : characterCount(normal)
  if (normal === undefined || length < minLength || length > maxLength) {
    throw refused(`A password has ${minLength} to ${maxLength} characters.`)
  }
  if (isCommonPassword(normal)) {
    throw refused('This password is too common. Choose another one, for example four random words.')
  }
  return await hashing.run(async () => (await argon2()).hash(normal, cost), tooMany, true)
}

/**
 * Whether a password matches a hash. Without a hash (unknown user or no password), this takes the same time and returns
 * false. Fails with `rate_limit_exceeded` if too many passwords are being hashed. With `hasPriority`, it does not wait
 * for anonymous sign-ins. See docs/security.md, "Overload".
 */
export async function verifyPassword(
  hash: string | null | undefined,
  password: string,
  { hasPriority }: { hasPriority: boolean } = { hasPriority: false },
): Promise<boolean> {
  const normal = normalised(password)
  const isRight = await hashing.run(
    async () => (await argon2()).verify(hash ?? dummyHash, normal ?? '').catch(() => false),
    tooMany,
    hasPriority,
  )
  return isRight && hash != null && normal !== undefined
}

/** Creates the error for an unknown email address or a wrong password, which must look the same. */
export function signInFailed(): GridError {
  return new GridError('sign_in_failed', 'The email address or the password is wrong.')
}

/** Normalises to NFKC, because keyboards encode characters differently. Undefined if the password is far too long. */
function normalised(password: string): string | undefined {
  return password.length > maxUnits ? undefined : password.normalize('NFKC')
}

function refused(message: string): GridError {
  return new GridError('invalid_input', message, { field: 'password' })
}

function tooMany(): GridError {
  return limitReached(
    'rate_limit_exceeded',
    'Too many sign-ins at the moment. Try again in a few seconds.',
    { name: 'sign-ins-waiting', quota: capacity.maxQueued },
    2,
  )
}
