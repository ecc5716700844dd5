/** Mail addresses of people. */
import { GridError } from '../errors.ts'

// One plain address and nothing else: no display name, list, quotes, comments or white space.
const plainAddress =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/

/** Normalise first (NFKC, trim, lower case), then check. Fails with `invalid_email`, which names `field`. */
export function normalEmail(text: string, field = 'owner_email'): string {
  const email = text.normalize('NFKC').trim().toLowerCase()
  if (email.length > 254 || email.indexOf('@') > 64 || !plainAddress.test(email)) {
    throw new GridError('invalid_email', `${field} takes one plain mail address, for example ann@example.com.`, {
      field,
    })
  }
  return email
}
