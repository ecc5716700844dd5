/** Client names, which clients choose themselves and which are unverified. See docs/security.md, "Client names". */
import { plainName } from '../lib/names.ts'

const maxLength = 80

/** The name on one line of at most 80 characters, without invisible ones. */
export function cleanName(text: string): string {
  return plainName(text, maxLength) || 'Unnamed client'
}
