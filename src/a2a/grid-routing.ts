/** Who a request is for: a message names its recipient in its metadata. See docs/protocol.md, "Grid routing extension". */
import { GridError } from '../errors.ts'
import { normaliseAlias } from '../lib/alias.ts'
import { hasAtMost } from '../lib/text.ts'
import type { SendRequest } from './codec.ts'

/** The longest recipient that is looked up, in characters. Aliases are shorter. */
const maxRecipientLength = 100

/**
 * The alias that a request names, without `@`; undefined when it names none. `null`, the empty string and a lone `@`
 * count as absent. `path`: the aliases in the path of the request. Fails with `invalid_input` if it is not a string, or
 * if the request names two different recipients.
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
 * The alias that the path of a request and its tenant name; undefined for the shared endpoint.
 * Fails with `invalid_input` if they are different.
 */
export function endpointAlias(path: readonly string[], tenant: string | undefined): string | undefined {
  return onlyAlias([...path.map((alias) => readAlias('path', alias)), readAlias('tenant', tenant)])
}

/** The one alias among texts of which some may be empty. */
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

/** The metadata of a message without its routing fields; undefined when there are no others. */
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
