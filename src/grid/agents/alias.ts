/** Aliases and channel names: how they look, and how they are read. */
import { GridError } from '../../errors.ts'

/** Spec: "Limits", alias length: 3 to 32 characters. Channel names follow the same pattern. */
export const aliasPattern = /^[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$/

const rule = '3 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends'

/** An address as people type it, to the stored form: trimmed, without `@`, in lower case. It need not exist. */
export function bareAlias(text: string): string {
  return text.trim().replace(/^@/, '').toLowerCase()
}

/** A channel name as people type it, to the stored form. */
export function bareChannelName(text: string): string {
  return text.trim().replace(/^#/, '').toLowerCase()
}

/**
 * Check the alias of a new agent. It is taken as written, never repaired, so that
 * what was asked for is what exists. Fails with `invalid_alias` or `alias_reserved`.
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
