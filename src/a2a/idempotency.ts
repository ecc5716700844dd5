/** The extension that makes the id of a message its idempotency key. See docs/protocol.md, "A2A extensions". */
import type { Extension } from './extension.ts'

export const idempotency: Extension = {
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
