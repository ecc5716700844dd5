/** Passwords of people: Argon2id through oslo, off the main thread. */
import { GridError } from '../errors.ts'

const minLength = 10
const maxLength = 200

/** The PHC string of a new password. Fails with `invalid_input` when it is too short or too long. */
export async function hashPassword(password: string): Promise<string> {
  if (password.length < minLength || password.length > maxLength) {
    throw new GridError('invalid_input', `A password has ${minLength} to ${maxLength} characters.`, {
      field: 'password',
    })
  }
  return await (await argon2id()).hash(password)
}

/** Whether a password is the one of a PHC string. Null, for people without one, takes as long and is never right. */
export async function checkPassword(phc: string | null, password: string): Promise<boolean> {
  const hasher = await argon2id()
  const isRight = await hasher.verify(phc ?? await nobodys(), password.slice(0, maxLength))
  return isRight && phc !== null
}

async function argon2id() {
  // Loaded only here: the module brings native code that most processes never need.
  const { Argon2id } = await import('oslo/password')
  return new Argon2id({ memorySize: 19_456, iterations: 2, tagLength: 32, parallelism: 1 })
}

let nobodysHash: Promise<string> | undefined

function nobodys(): Promise<string> {
  nobodysHash ??= argon2id().then((hasher) => hasher.hash(crypto.randomUUID()))
  return nobodysHash
}
