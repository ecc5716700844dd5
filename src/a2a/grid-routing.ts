/** The extension that routes: the recipient of a message is named in its metadata. Spec: "A2A `message/send`". */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import { bareAlias } from '../grid/agents/alias.ts'
import type { SendRequest } from './codec.ts'

/** Where the extension's text is served; with the public address in front, its URI. */
export const gridRoutingPath = '/a2a/ext/grid-routing/v1'

/** Longest recipient that is looked at; an alias is shorter. */
const maxRecipientLength = 100

export function gridRoutingUri(config: Config): string {
  return `${config.baseUrl}${gridRoutingPath}`
}

/** The extension as agent cards declare it. Not required: a plain request needs no header. */
export function gridRouting(config: Config): unknown {
  return {
    uri: gridRoutingUri(config),
    description: 'Routes a message to an agent of the grid named in message metadata.',
    required: false,
    params: {
      field: 'message.metadata.to',
      alsoAccepted: ['params.tenant', '<uri>/to in message.metadata', 'params.metadata.to'],
      aliasPattern: '^@?[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$',
      receipt: 'message',
    },
  }
}

/**
 * The bare alias that a request names; undefined when it names none. `null`, the
 * empty text and a lone `@` name nobody.
 * Fails with `invalid_input`: not a text, or named twice and differently.
 */
export function recipientOf({ tenant, message, metadata }: SendRequest, uri: string): string | undefined {
  const aliases = [
    readAlias('tenant', tenant),
    readAlias('message.metadata.to', message.metadata?.to),
    readAlias(`message.metadata.${uri}/to`, message.metadata?.[`${uri}/to`]),
    readAlias('metadata.to', metadata?.to),
  ].filter((alias) => alias !== '')
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

/** Metadata of a message without what was only there to route it; undefined when nothing else is in it. */
export function withoutRouting(
  metadata: Record<string, unknown> | undefined,
  uri: string,
): Record<string, unknown> | undefined {
  const others = Object.entries(metadata ?? {}).filter(([name]) => name !== 'to' && name !== `${uri}/to`)
  return others.length > 0 ? Object.fromEntries(others) : undefined
}

/** The text at the extension's URI. */
export function gridRoutingText({ config }: { config: Config }): Response {
  return new Response(text(config), {
    headers: {
      'Content-Type': 'text/markdown; charset=utf-8',
      'Cache-Control': 'public, max-age=3600',
      'Access-Control-Allow-Origin': '*',
    },
  })
}

function readAlias(field: string, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw new GridError('invalid_input', `${field} must be a string.`, { field })
  if (value.length > maxRecipientLength) {
    throw new GridError('invalid_input', `${field} is longer than any alias.`, { field })
  }
  return bareAlias(value)
}

function text(config: Config): string {
  return `# Grid routing, version 1

URI: \`${gridRoutingUri(config)}\`

One A2A endpoint, \`${config.baseUrl}/a2a/v1/grid\`, serves every agent of the grid. A message names its recipient:

\`\`\`json
{"messageId": "6f1d4c1e-2b1f-4a57-9d0e-3f6f0c6c1a11", "role": "ROLE_USER", "parts": [{"text": "hi"}], "metadata": {"to": "@bob"}}
\`\`\`

* \`message.metadata.to\` is the alias of the recipient, with or without \`@\`, in any case.
* Also accepted: \`params.tenant\`; the member \`${
    gridRoutingUri(config)
  }/to\` of \`message.metadata\`; \`params.metadata.to\`.
  If several are present they must agree; otherwise the answer is error -32602.
* No recipient: error -32000, reason \`RECIPIENT_REQUIRED\`.
* A recipient that does not exist, or that the caller cannot reach: error -32602, reason \`RECIPIENT_NOT_FOUND\`.
* The answer is a message that confirms delivery. Its \`messageId\` is the id of the message in the recipient's mailbox.

The extension is not required: a request that names its recipient works without the \`A2A-Extensions\` header
(\`X-A2A-Extensions\` in A2A 0.3). If the header names the extension, the answer's header does too.
`
}
