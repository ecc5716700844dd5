/** Names, email addresses, aliases and channel names: their format and how they are normalised. See docs/protocol/README.md. */
import { GridError } from '../errors.ts'
import { hasInvisible, withoutInvisible } from './invisible-text.ts'

/**
 * Characters that make a name look like another one, or empty, also where a text may have them: controls, direction
 * marks, fillers, hyphens that do not show. Joiners, variation selectors and tags are left to `hasInvisible`, because
 * emoji and some scripts need them.
 */
const deceptive =
  /(?![\u200c\u200d\u180b-\u180f\ufe00-\ufe0f\u{e0000}-\u{e01ef}])[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/u
const allDeceptive = new RegExp(deceptive, 'gu')

/** Whether a name shows all that it consists of. A text is cleaned; a name is refused, because it is looked up. */
export function isPlainName(name: string): boolean {
  return !deceptive.test(name) && !hasInvisible(name)
}

/** A name that is not looked up, on one line of at most `maxLength` characters, without what `isPlainName` refuses. */
export function plainName(text: string, maxLength: number): string {
  const line = withoutInvisible(text.toWellFormed().normalize('NFC')).replace(/\s+/g, ' ').replace(allDeceptive, '')
  // Again: the cut may leave a joiner at the end.
  return withoutInvisible([...line.trim()].slice(0, maxLength).join('')).trim()
}

// Exactly one plain address: no display name, list, quotes, comments or white space.
const plainAddress =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/

/** Whether a text is one plain email address in lower case. Emails go only to such addresses. */
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

export const aliasPattern = /^[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$/

/** Reserved, because they look like a part of the grid or like everyone. */
export const reservedAliases: readonly string[] = [
  ...['admin', 'administrator', 'channel', 'grid', 'system', 'support', 'security', 'root', 'owner', 'api', 'www'],
  ...['tasks', 'all', 'everyone', 'here'],
]

const rule = '3 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends'

/** The alias of a new agent as typed, without spaces around it and without `@`. Its case is not changed. */
export function bareAlias(text: string): string {
  return text.trim().replace(/^@/, '')
}

/**
 * An alias as users type it, in the stored form: trimmed, without `@`, in lower case. It need not exist or be valid.
 */
export function normaliseAlias(text: string): string {
  return bareAlias(text).toLowerCase()
}

/** A channel name as users type it, in the stored form: trimmed, without `#`, in lower case. */
export function normaliseChannelName(text: string): string {
  return text.trim().replace(/^#/, '').toLowerCase()
}

/**
 * Check the alias of a new agent. Its case is never changed, so that the agent gets exactly the requested alias.
 * Fails with `invalid_alias` or `alias_reserved`.
 */
export function checkNewAlias(alias: string, reserved: readonly string[]): string {
  if (!aliasPattern.test(alias)) {
    throw new GridError('invalid_alias', `An alias has ${rule}.`, { field: 'alias' })
  }
  if (reserved.includes(alias)) {
    throw new GridError('alias_reserved', `The alias @${alias} is reserved. Choose another.`, { field: 'alias' })
  }
  return alias
}

/** Check the name of a new channel. Fails with `invalid_input`. */
export function checkNewChannelName(name: string): string {
  if (!aliasPattern.test(name)) throw new GridError('invalid_input', `A channel name has ${rule}.`, { field: 'name' })
  return name
}

/** The aliases that a text names as `@alias`, in lower case, each once: at most 50. An email address names none. */
export function namedAliases(text: string): string[] {
  const found = new Set<string>()
  for (
    const [, alias] of text.matchAll(
      /(?<![\p{L}\p{N}_.+-])@([a-z0-9][a-z0-9-]{1,30}[a-z0-9])(?![\p{L}\p{N}_-]|\.[a-z0-9])/giu,
    )
  ) {
    if (found.add(alias.toLowerCase()).size === 50) break
  }
  return [...found]
}
