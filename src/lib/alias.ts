/** Aliases and channel names: their format, and their normalisation. See docs/protocol/README.md. */
import { GridError } from '../errors.ts'

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
