/**
 * The grid's A2A extensions, as declared in cards and documented at their URIs. No extension is required. See
 * docs/protocol/a2a.md, "Extensions".
 */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import type { Handler } from '../request-context.ts'

/** How long a call waits for an agent's answer. */
export const maxWaitSeconds = 30

interface Extension {
  /** A one-sentence description for cards. */
  description: string
  /**
   * Parameters for clients, published in cards. Numbers are strings, because signature verifiers format numbers in
   * different ways.
   */
  params(config: Config): Record<string, unknown>
  /** The text served at the extension's URI, in Markdown. */
  text(uri: string, config: Config): string
}

const gridRouting: Extension = {
  description: 'Routes a message to an agent of the grid named in message metadata.',
  params: () => ({
    field: 'message.metadata.to',
    alsoAccepted: ['params.tenant', '<uri>/to in message.metadata', 'params.metadata.to'],
    aliasPattern: '^@?[a-z0-9][a-z0-9-]{1,30}[a-z0-9]$',
    receipt: 'message',
  }),
  text: (uri, config) =>
    `# Grid routing, version 1

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
`,
}

const awaitReply: Extension = {
  description: 'A message sent over the shared address is answered with a task, once the recipient has replied.',
  // An ISO 8601 duration.
  params: () => ({ waitsAtMost: `PT${maxWaitSeconds}S` }),
  text: (uri, { baseUrl }) =>
    `# Await reply, version 1

URI: \`${uri}\`

A message that is sent to \`${baseUrl}/a2a/v1/grid\` is answered at once, with a message that confirms its delivery. A
request that names this extension in its header \`A2A-Extensions\` (\`X-A2A-Extensions\` in A2A 0.3) is answered with a
task instead, as the address of a single agent does.

* The answer comes when the task is completed, failed, rejected or canceled, or needs input or authorization.
* It comes after ${maxWaitSeconds} seconds at the latest, with the task as it is then. \`Prefer: wait=N\` shortens this to N seconds.
* If calls do not wait for the recipient, which is the default while it is not there, it comes at once: the task is
  submitted, and the recipient reads it later.
* With \`blocking: false\` (0.3) or \`returnImmediately: true\` (1.0) nothing waits.
* Read the task later with \`tasks/get\` (\`GetTask\`), or follow it with \`tasks/resubscribe\` (\`SubscribeToTask\`).
`,
}

const idempotency: Extension = {
  description: 'A message that is sent twice with the same messageId is delivered once.',
  params: () => ({ key: 'message.messageId', alsoAccepted: ['Idempotency-Key header'], kept: 'P7D' }),
  text: (uri) =>
    `# Idempotency, version 1

URI: \`${uri}\`

A2A does not say what a second message with the same \`messageId\` means. Without this extension it is a second message.
A request that names this extension in its header \`A2A-Extensions\` (\`X-A2A-Extensions\` in A2A 0.3) is delivered once,
however often it is sent:

* The key is \`message.messageId\`, or the header \`Idempotency-Key\` if the request has one. That header works without
  the extension, too.
* Keys belong to the sending agent and are kept for 7 days.
* The same method and parameters under the same key: the answer of the first request, with the id of this one. A
  repeated stream request follows the task of the first one.
* Other parameters under the same key: error -32602, reason \`IDEMPOTENCY_CONFLICT\`.
`,
}

const footer = `
The extension is not required. If a request names it in its header \`A2A-Extensions\` (\`X-A2A-Extensions\` in A2A 0.3), so
does the response.
`

const extensions = { 'grid-routing': gridRouting, 'await-reply': awaitReply, idempotency }
type ExtensionName = keyof typeof extensions
const names = Object.keys(extensions) as ExtensionName[]

/** Returns an extension's URI, which also serves its text. */
export function extensionUri({ baseUrl }: Config, name: ExtensionName): string {
  return `${baseUrl}/a2a/ext/${name}/v1`
}

export function extensionUris(config: Config): string[] {
  return names.map((name) => extensionUri(config, name))
}

/**
 * Returns an endpoint's extensions. An agent's endpoint always waits, and its path names the recipient, so it needs
 * neither the routing extension nor the one that requests a wait.
 */
export function declaredExtensions(config: Config, endpoint: 'grid' | 'agent'): Record<string, unknown>[] {
  const declared = endpoint === 'grid' ? names : ['idempotency'] as const
  return declared.map((name) => {
    const { description, params } = extensions[name]
    return { uri: extensionUri(config, name), description, required: false, params: params(config) }
  })
}

/** Serves the text of the extension in the path. Fails with `not_found`. */
export function extensionTexts(config: Config): Handler {
  return function extensionText(c) {
    const name = names.find((name) => name === c.req.param('name'))
    if (!name) throw new GridError('not_found', 'There is no extension with this name.')
    return new Response(extensions[name].text(extensionUri(config, name), config) + footer, {
      headers: {
        'Content-Type': 'text/markdown; charset=utf-8',
        'Cache-Control': 'public, max-age=3600',
        // The CORS headers depend on whether the request has an `Origin`.
        Vary: 'Origin',
      },
    })
  }
}
