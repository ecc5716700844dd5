/** Determines the agent that a request is for. See docs/protocol/a2a.md, "Extensions". */
import { GridError } from '../errors.ts'
import { normaliseAlias } from '../aliases.ts'
import { hasAtMost } from '../lib/text.ts'
import type { SendRequest } from './codec.ts'

/** Maximum length of a recipient that is looked up, in characters. Aliases are shorter. */
const maxRecipientLength = 100

/**
 * Returns the alias named in a request, without `@`. Treats `null`, an empty string and a lone `@` as missing. `path`
 * contains the aliases in the path. Fails with `invalid_input` if the alias is not a string, or if the request names
 * two different recipients.
 */
export function recipientOf(
  { tenant, message, metadata }: SendRequest,
  uri: string,
  path: readonly string[],
): string | undefined {
  return onlyAlias([
    ...path.map((alias) => readAlias('path', alias)),
    readAlias('tenant', tenant),
    readAlias('message.metadata.to', message.metadata?.to),
    readAlias(`message.metadata.${uri}/to`, message.metadata?.[`${uri}/to`]),
    readAlias('metadata.to', metadata?.to),
  ])
}

/**
 * Returns the alias in the path or the tenant; undefined for the shared endpoint. Fails with `invalid_input` if they
 * differ.
 */
export function endpointAlias(path: readonly string[], tenant: string | undefined): string | undefined {
  return onlyAlias([...path.map((alias) => readAlias('path', alias)), readAlias('tenant', tenant)])
}

function onlyAlias(texts: string[]): string | undefined {
  const aliases = texts.filter((alias) => alias !== '')
  const [alias] = aliases
  if (aliases.some((other) => other !== alias)) {
    throw new GridError(
      'invalid_input',
      'The request names two different recipients. Name one, in message.metadata.to.',
      { field: 'message.metadata.to' },
    )
  }
  return alias
}

export function withoutRouting(
  metadata: Record<string, unknown> | undefined,
  uri: string,
): Record<string, unknown> | undefined {
  const others = Object.entries(metadata ?? {}).filter(([name]) => name !== 'to' && name !== `${uri}/to`)
  return others.length > 0 ? Object.fromEntries(others) : undefined
}

function readAlias(field: string, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw new GridError('invalid_input', `${field} must be a string.`, { field })
  if (!hasAtMost(value, maxRecipientLength)) {
    throw new GridError('invalid_input', `${field} is longer than any alias.`, { field })
  }
  return normaliseAlias(value)
}
