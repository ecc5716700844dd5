/** Email addresses of users. */
import { GridError } from '../../errors.ts'
import { isPlainAddress } from '../../lib/names.ts'

/** Normalise an email address (NFKC, trim, lower case) and check it. Fails with `invalid_email`, which names `field`. */
export function normaliseEmail(text: string, field = 'owner_email'): string {
  const email = text.normalize('NFKC').trim().toLowerCase()
  if (!isPlainAddress(email)) {
    throw new GridError('invalid_email', `${field} must be one plain email address, for example ann@example.com.`, {
      field,
    })
  }
  return email
}
