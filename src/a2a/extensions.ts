/** The extensions of A2A that the grid has, as cards declare them and as their addresses describe them. None is required. See docs/protocol.md, "A2A extensions". */
import type { Config } from '../config.ts'
import { GridError } from '../errors.ts'
import type { Handler } from '../request-context.ts'

interface Extension {
  /** In its URI. */
  name: string
  /** One sentence, in cards. */
  description: string
  /** What clients need to know, in cards. Numbers are texts: verifiers of signatures write numbers differently. */
  params?(config: Config): Record<string, unknown>
  /** The text at its URI, in Markdown. */
  text(uri: string, config: Config): string
}

/** The URI of an extension, which is also the address of its text. */
function extensionUri({ baseUrl }: Config, { name }: Extension): string {
  return `${baseUrl}/a2a/ext/${name}/v1`
}

/** An extension as cards declare it. */
function declared(config: Config, extension: Extension): Record<string, unknown> {
  const { description, params } = extension
  return {
    uri: extensionUri(config, extension),
    description,
    required: false,
    ...(params && { params: params(config) }),
  }
}

/** Not required: requests work without the extensions header. */
const gridRouting: Extension = {
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

const awaitReply: Extension = {
  name: 'await-reply',
  description: 'A message sent over the shared address is answered with a task, once the recipient has replied.',
  // A duration as a text. @see ISO 8601
  params: ({ a2aBlockingMaxSeconds }) => ({ waitsAtMost: `PT${a2aBlockingMaxSeconds}S` }),
  text: (uri, { baseUrl, a2aBlockingMaxSeconds }) =>
    `# Await reply, version 1

URI: \`${uri}\`

A message that is sent to \`${baseUrl}/a2a/v1/grid\` is answered at once, with a message that confirms its delivery. A
request that names this extension in its header \`A2A-Extensions\` (\`X-A2A-Extensions\` in A2A 0.3) is answered with a
task instead, as the address of a single agent does.

* The answer comes when the task is completed, failed, rejected or canceled, or needs input or authorization.
* It comes after ${a2aBlockingMaxSeconds} seconds at the latest, with the task as it is then. \`Prefer: wait=N\` shortens this to N seconds.
* If the recipient is not connected, it comes at once: the task is submitted, and the recipient reads it later.
* With \`blocking: false\` (0.3) or \`returnImmediately: true\` (1.0) nothing waits.
* Read the task later with \`tasks/get\` (\`GetTask\`), or follow it with \`tasks/resubscribe\` (\`SubscribeToTask\`).

The extension is not required. If the header of the request names it, that of the response does too.
`,
}

const idempotency: Extension = {
  name: 'idempotency',
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

The extension is not required. If the header of the request names it, that of the response does too.
`,
}

/** Those that change something at the shared endpoint. */
const ofGrid = [gridRouting, awaitReply, idempotency]
/** Those that change something at the endpoint of an agent: its path names the recipient, and it waits by itself. */
const ofAgent = [idempotency]

/** Activated: a send on the shared endpoint is answered with the task, after waiting for its recipient. */
export function awaitReplyUri(config: Config): string {
  return extensionUri(config, awaitReply)
}

/** Activated: the `messageId` of a send is its idempotency key. */
export function idempotencyUri(config: Config): string {
  return extensionUri(config, idempotency)
}

/** The URIs of all extensions that change an answer if a request activates them. */
export function extensionUris(config: Config): string[] {
  return [gridRoutingUri(config), awaitReplyUri(config), idempotencyUri(config)]
}

/** The extensions of the shared endpoint, as its card declares them. */
export function gridExtensions(config: Config): Record<string, unknown>[] {
  return ofGrid.map((extension) => declared(config, extension))
}

/** The extensions of the endpoint of an agent, as its card declares them. */
export function agentExtensions(config: Config): Record<string, unknown>[] {
  return ofAgent.map((extension) => declared(config, extension))
}

/** Serves the text of the extension that the path names. Fails with `not_found`. */
export function extensionTexts(config: Config): Handler {
  return function extensionText(c) {
    const found = ofGrid.find(({ name }) => name === c.req.param('name'))
    if (!found) throw new GridError('not_found', 'There is no extension of this name.')
    return textOf(config, found)
  }
}

function textOf(config: Config, extension: Extension): Response {
  return new Response(extension.text(extensionUri(config, extension), config), {
    headers: {
      'Content-Type': 'text/markdown; charset=utf-8',
      'Cache-Control': 'public, max-age=3600',
      // The CORS headers depend on whether there is an Origin.
      Vary: 'Origin',
    },
  })
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
