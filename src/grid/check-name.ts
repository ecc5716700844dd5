import { GridError } from '../errors.ts'
import { isPlainName } from '../lib/names.ts'
import { hasAtMost, wellFormed } from '../lib/text.ts'

const maxNameLength = 80

/** Returns the trimmed name of an account, a user or a key. Fails with `invalid_input`, which names `field`. */
export function checkName(text: string, field: string): string {
  const name = wellFormed(text)?.trim()
  if (!name || !hasAtMost(name, maxNameLength)) {
    throw new GridError('invalid_input', `A name has 1 to ${maxNameLength} characters.`, { field })
  }
  if (!isPlainName(name)) {
    throw new GridError('invalid_input', 'A name must not contain control or invisible characters.', { field })
  }
  return name
}
