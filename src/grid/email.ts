/** Mail addresses of people. */
import { GridError } from '../errors.ts'

// One plain address and nothing else: no display name, list, quotes, comments or white space.
const plainAddress =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/

/** Normalise first (NFKC, trim, lower case), then check. Fails with `invalid_email`. */
export function normalEmail(text: string): string {
  const email = text.normalize('NFKC').trim().toLowerCase()
  if (email.length > 254 || email.indexOf('@') > 64 || !plainAddress.test(email)) {
    throw new GridError('invalid_email', 'owner_email takes one plain mail address, for example ann@example.com.', {
      field: 'owner_email',
    })
  }
  return email
}
