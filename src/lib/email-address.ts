/** Validation of email addresses. Emails go only to addresses that pass it. See docs/security.md, "Email messages". */
import { GridError } from '../errors.ts'

// Exactly one plain address: no display name, list, quotes, comments or white space.
const plainAddress =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/

/** Whether a text is one plain email address in lower case. */
export function isPlainAddress(text: string): boolean {
  return text.length <= 254 && text.indexOf('@') <= 64 && plainAddress.test(text)
}

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
