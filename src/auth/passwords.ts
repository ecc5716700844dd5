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
  // Loaded only here: the module brings native code that most processes never need.
  const { Argon2id } = await import('oslo/password')
  return await new Argon2id({ memorySize: 19_456, iterations: 2, tagLength: 32, parallelism: 1 }).hash(password)
}
