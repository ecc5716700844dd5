/** Mail addresses of people. */
import { GridError } from '../../errors.ts'
import { isPlainAddress } from '../../lib/email-address.ts'

/** Normalise first (NFKC, trim, lower case), then check. Fails with `invalid_email`, which names `field`. */
export function normalEmail(text: string, field = 'owner_email'): string {
  const email = text.normalize('NFKC').trim().toLowerCase()
  if (!isPlainAddress(email)) {
    throw new GridError('invalid_email', `${field} takes one plain mail address, for example ann@example.com.`, {
      field,
    })
  }
  return email
}
