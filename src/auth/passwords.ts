/** Passwords of people: which are taken, and how they are kept and checked. Security 3.2. */
import { GridError } from '../errors.ts'
import { Gate } from '../lib/semaphore.ts'
import { characters } from '../lib/text.ts'
import { argon2 } from './argon2.ts'
import { isCommonPassword } from './common-passwords.ts'

const minLength = 10
const maxLength = 200
/** In UTF-16 units, before anything looks at it: one character may become many when it is normalised. */
const maxUnits = 2 * maxLength
/** A hash takes 19 MiB and a core; a flood of them waits here and then outside. */
const gate = new Gate({ atOnce: 2, maxWaiting: 16 })

/** Of a password that nobody has: who does not exist takes as long as who does. Security E1. */
const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$33dlXvzD+BYWARMf5jzNZA$gUArijg2zyFQEHDRlOMiM98LAUsf+u/20mu0twshsag'

/**
 * The PHC string of a new password. Fails with `invalid_input` when it is too short, too long or too common, and
 * with `rate_limit_exceeded` when too many are hashed at once.
 */
export async function hashPassword(password: string): Promise<string> {
  const normal = normalised(password)
  const length = normal === undefined ? Infinity : characters(normal)
  if (normal === undefined || length < minLength || length > maxLength) {
    throw refused(`A password has ${minLength} to ${maxLength} characters.`)
  }
  if (isCommonPassword(normal)) {
    throw refused(
      'This password is one of those that are tried first. Take another one, for example four random words.',
    )
  }
  return await gate.run(async () => (await argon2()).hash(normal), tooMany)
}

/**
 * Whether a password is the one that was hashed. Without a hash, for people who do not exist or have no password,
 * it takes the same time and is false. Fails with `rate_limit_exceeded` when too many are checked at once.
 */
export async function verifyPassword(hash: string | null | undefined, password: string): Promise<boolean> {
  const normal = normalised(password)
  const isRight = await gate.run(
    async () => (await argon2()).verify(hash ?? nobodysHash, normal ?? ''),
    tooMany,
  )
  return isRight && hash != null && normal !== undefined
}

/** What is said of every wrong pair of address and password. */
export function signInFailed(): GridError {
  return new GridError('sign_in_failed', 'The address or the password is wrong.')
}

/** The same letters typed on another keyboard are the same password: NFKC, as both implementations expect. */
function normalised(password: string): string | undefined {
  return password.length > maxUnits ? undefined : password.normalize('NFKC')
}

function refused(message: string): GridError {
  return new GridError('invalid_input', message, { field: 'password' })
}

function tooMany(): GridError {
  return new GridError('rate_limit_exceeded', 'Too many people are signing in. Try again in a moment.', {
    retryAfterSeconds: 2,
  })
}
