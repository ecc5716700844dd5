/** Names and email addresses: their format and normalisation. See docs/protocol/README.md, "Names and formats". */
import { GridError } from '../errors.ts'
import { hasInvisible, withoutInvisible } from './invisible-text.ts'

/**
 * Matches characters that make a name look empty or like another name: controls, direction marks, fillers, invisible
 * hyphens. Texts may contain them. `hasInvisible` checks joiners, variation selectors and tags, because emoji and some
 * scripts need them.
 */
const deceptive =
  /(?![\u200c\u200d\u180b-\u180f\ufe00-\ufe0f\u{e0000}-\u{e01ef}])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/u
const allDeceptive = new RegExp(deceptive, 'gu')

/** Whether all characters of a name are visible. Names are refused instead of cleaned, because they are looked up. */
export function isPlainName(name: string): boolean {
  return !deceptive.test(name) && !hasInvisible(name)
}

/**
 * Cleans a name that is not looked up: one line of at most `maxLength` characters, without the characters that
 * `isPlainName` refuses.
 */
export function plainName(text: string, maxLength: number): string {
  const line = withoutInvisible(text.toWellFormed().normalize('NFC')).replace(/\s+/g, ' ').replace(allDeceptive, '')
  // Clean the name again, because truncation may leave a joiner at the end.
  return withoutInvisible([...line.trim()].slice(0, maxLength).join('')).trim()
}

// Matches exactly one plain address, without display name, list, quotes, comments or white space.
const plainAddress =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/

/** Whether a text is one plain email address in lower case. The grid sends emails only to such addresses. */
export function isPlainAddress(text: string): boolean {
  return text.length <= 254 && text.indexOf('@') <= 64 && plainAddress.test(text)
}

/** Normalises an email address (NFKC, trim, lower case) and checks it. Fails with `invalid_email`, naming `field`. */
export function normaliseEmail(text: string, field: string): string {
  const email = text.normalize('NFKC').trim().toLowerCase()
  if (!isPlainAddress(email)) {
    throw new GridError('invalid_email', `${field} must be one plain email address, for example ann@example.com.`, {
      field,
    })
  }
  return email
}
