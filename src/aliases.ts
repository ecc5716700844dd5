/** Aliases and channel names: their format and how they are normalised. See docs/protocol/README.md, "Names and formats". */
import { GridError } from './errors.ts'

export const aliasPattern = /^[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$/

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
