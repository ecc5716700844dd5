/** Sending: `message/send` of A2A 0.3 and `SendMessage` of 1.0, answered with a receipt. a2a.md, sections 4, 7 and 9. */
import { GridError } from '../errors.ts'
import { type A2aDetails, checkRecipient, sendMessage } from '../grid/messaging/send-message.ts'
import { canonicalJson } from '../lib/canonical-json.ts'
import { newId } from '../lib/id.ts'
import type { ClientMessage, Part, SendRequest } from './codec.ts'
import { pushNotSupported, taskNotFound } from './faults.ts'
import { gridRoutingUri, recipientOf, withoutRouting } from './grid-routing.ts'
import type { Call } from './methods.ts'

/**
 * Deliver a message to the agent it names. The result is a message that confirms it,
 * whatever the client says about blocking: nothing is waited for.
 *
 * Fails with `invalid_input`, `recipient_required`, `recipient_not_found`, `task_not_found`,
 * `no_text_content`, `push_not_supported` and what `sendMessage` fails with.
 *
 * Spec: "A2A `message/send`", "A2A errors".
 */
export async function messageSend({ account, codec, method, params, idempotencyKey }: Call): Promise<unknown> {
  const { config } = account.deps
  const request = codec.readSend(params)
  const { message } = request

  const to = recipientOf(request, gridRoutingUri(config))
  if (to === undefined) throw message.taskId === undefined ? recipientRequired() : taskNotFound(message.taskId)
  const fault = faultOf(request)
  if (fault) {
    // `sendMessage` would find out too late: a missing recipient is answered before these faults.
    await checkRecipient(account, to)
    throw fault
  }

  const contextId = message.contextId ?? newId()
  const sent = await sendMessage(account, {
    // With the sign, so that no text of a client names a channel.
    to: `@${to}`,
    text: textOf(message.parts),
    conversationId: contextId,
    idempotencyKey,
    // Method and params as they came: the context made above differs in every repeat.
    request: idempotencyKey === undefined ? undefined : canonicalJson([method, params]),
    a2a: detailsOf(message, contextId, gridRoutingUri(config)),
    toSelf: true,
  })
  return codec.writeReceipt({
    messageId: sent.id,
    text: `Message delivered to ${sent.recipient}`,
    contextId: config.a2aPlainReceipts ? undefined : sent.conversationId ?? undefined,
  })
}

/** What is wrong with a request whose recipient is in order. */
function faultOf({ message, push }: SendRequest): GridError | undefined {
  if (message.taskId !== undefined) return taskNotFound(message.taskId)
  if (!message.parts.some((part) => 'text' in part && part.text !== '')) {
    return new GridError('no_text_content', 'No text content in message parts', { field: 'message.parts' })
  }
  return push ? pushNotSupported() : undefined
}

function recipientRequired(): GridError {
  return new GridError('recipient_required', "Missing 'to' in message.metadata - specify the recipient @alias", {
    field: 'message.metadata.to',
  })
}

/** Text parts in their order, one below the other. */
function textOf(parts: Part[]): string {
  return parts.flatMap((part) => 'text' in part ? [part.text] : []).join('\n')
}

/** What the recipient learns beyond the text. The parts only where they say more than the text does. */
function detailsOf(message: ClientMessage, contextId: string, routingUri: string): A2aDetails {
  const { messageId, parts, referenceTaskIds } = message
  const extensions = message.extensions?.filter((uri) => uri !== routingUri)
  return {
    messageId,
    contextId,
    parts: parts.every(isBareText) ? undefined : parts,
    metadata: withoutRouting(message.metadata, routingUri),
    extensions: extensions?.length ? extensions : undefined,
    referenceTaskIds,
  }
}

function isBareText(part: Part): boolean {
  return 'text' in part && !part.mediaType && !part.filename && !part.metadata
}
