/** The routing extension: a message names its recipient in its metadata. See docs/protocol.md, "Grid routing extension". */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { normaliseAlias } from '../lib/alias.ts'
import { hasAtMost } from '../lib/text.ts'
import type { SendRequest } from './codec.ts'
import { type Extension, extensionUri } from './extension.ts'

/** The longest recipient that is looked up, in characters. Aliases are shorter. */
const maxRecipientLength = 100

/** Not required: requests work without the extensions header. */
export const gridRouting: Extension = {
  name: 'grid-routing',
  description: 'Routes a message to an agent of the grid named in message metadata.',
  params: () => ({
    field: 'message.metadata.to',
    alsoAccepted: ['params.tenant', '<uri>/to in message.metadata', 'params.metadata.to'],
    aliasPattern: '^@?[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$',
    receipt: 'message',
  }),
  text: extensionText,
}

export function gridRoutingUri(config: Config): string {
  return extensionUri(config, gridRouting)
}

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

function extensionText(uri: string, config: Config): string {
  return `# Grid routing, version 1

URI: \`${uri}\`

One A2A endpoint, \`${config.baseUrl}/a2a/v1/grid\`, serves every agent of the grid. A message names its recipient:

\`\`\`json
{"messageId": "6f1d4c1e-2b1f-4a57-9d0e-3f6f0c6c1a11", "role": "ROLE_USER", "parts": [{"text": "hi"}], "metadata": {"to": "@bob"}}
\`\`\`

* \`message.metadata.to\` is the alias of the recipient, with or without \`@\`; case does not matter.
* Also accepted: \`params.tenant\`; the field \`${uri}/to\` of \`message.metadata\`; \`params.metadata.to\`.
  If several are present, they must agree; otherwise the result is error -32602.
* No recipient: error -32000, reason \`RECIPIENT_REQUIRED\`.
* A recipient that does not exist, or that the caller cannot reach: error -32602, reason \`RECIPIENT_NOT_FOUND\`.
* The result is a message that confirms delivery. Its \`messageId\` is the id of the message in the recipient's inbox.

The extension is not required: a request that names its recipient works without the \`A2A-Extensions\` header
(\`X-A2A-Extensions\` in A2A 0.3). If the header of the request names the extension, that of the response does too.
`
}
