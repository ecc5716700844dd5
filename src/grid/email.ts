/** Mail addresses of people. */
import { GridError } from '../errors.ts'
import { isPlainAddress } from '../lib/mail-address.ts'

/** Normalise first (NFKC, trim, lower case), then check. Fails with `invalid_email`. */
export function normalEmail(text: string): string {
  const email = text.normalize('NFKC').trim().toLowerCase()
  if (!isPlainAddress(email)) {
    throw new GridError('invalid_email', 'owner_email takes one plain mail address, for example ann@example.com.', {
      field: 'owner_email',
    })
  }
  return email
}
