/** The extension with which a send at the shared endpoint waits for the reply. See docs/protocol.md, "A2A extensions". */
import type { Extension } from './extension.ts'

export const awaitReply: Extension = {
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
