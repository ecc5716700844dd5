/** Formats and normalisation of aliases and channel names. See docs/protocol/README.md, "Names and formats". */
import { GridError } from './errors.ts'

export const aliasPattern = /^[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$/

const rule = '3 to 32 characters: lower-case letters, digits and hyphens, with a letter or digit at both ends'

/** Trims an alias typed for a new agent and removes a leading `@`. Preserves its case. */
export function bareAlias(text: string): string {
  return text.trim().replace(/^@/, '')
}

/**
 * Normalises a typed alias to its stored form: trimmed, without `@`, in lower case. Does not check whether the alias
 * exists or is valid.
 */
export function normaliseAlias(text: string): string {
  return bareAlias(text).toLowerCase()
}

/** Normalises a typed channel name to its stored form: trimmed, without `#`, in lower case. */
export function normaliseChannelName(text: string): string {
  return text.trim().replace(/^#/, '').toLowerCase()
}

/**
 * Validates a new agent's alias. Preserves its case, so that the agent gets exactly the requested alias. Fails with
 * `invalid_alias` or `alias_reserved`.
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

/** Validates a new channel's name. Fails with `invalid_input`. */
export function checkNewChannelName(name: string): string {
  if (!aliasPattern.test(name)) throw new GridError('invalid_input', `A channel name has ${rule}.`, { field: 'name' })
  return name
}

/** Returns up to 50 distinct aliases that a text mentions as `@alias`, in lower case. Email addresses are ignored. */
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
