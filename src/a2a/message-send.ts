/** `message/send` of A2A 0.3 and `SendMessage` of 1.0. See docs/protocol.md, "A2A `message/send`". */
import { callingAgent } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import type { A2aDetails, SentMessage } from '../grid/messaging/outgoing-message.ts'
import { resolve } from '../grid/messaging/resolve.ts'
import { sendMessage } from '../grid/messaging/send-message.ts'
import { turnsNote } from '../grid/messaging/turns.ts'
import { canonicalJson } from '../lib/canonical-json.ts'
import { newId } from '../lib/id.ts'
import { withoutInvisibleIn } from '../lib/invisible-text.ts'
import type { Part } from '../grid/tasks/task.ts'
import type { ClientMessage, SendRequest } from './codec.ts'
import { pushNotSupported, taskNotFound } from './errors.ts'
import { gridRoutingUri, recipientOf, withoutRouting } from './grid-routing.ts'
import type { MethodCall } from './method-call.ts'

/**
 * Deliver a message to the agent it names. The result is a message that confirms the delivery. It comes at once, whatever
 * the client says about blocking: nothing waits for the recipient.
 *
 * Fails with `invalid_input`, `recipient_required`, `recipient_not_found`, `task_not_found`, `no_text_content`,
 * `push_not_supported`, or as `sendMessage` does.
 *
 * See docs/protocol.md, "A2A order of checks", "A2A errors".
 */
export async function messageSend({ account, codec, method, params, idempotencyKey }: MethodCall): Promise<unknown> {
  const { config } = account.deps
  const request = codec.readSend(params)
  const { message } = request

  const sender = callingAgent(account.actor)
  const to = recipientOf(request, gridRoutingUri(config))
  if (to === undefined) throw message.taskId === undefined ? recipientRequired() : taskNotFound(message.taskId)
  const error = contentError(request)
  if (error) {
    // An unknown recipient takes precedence over these errors.
    await resolve(account, sender, `@${to}`)
    throw error
  }

  const contextId = message.contextId ?? newId()
  const sent = await sendMessage(account, sender, {
    // With `@`, so that no input of a client can name a channel.
    to: `@${to}`,
    text: joinedText(message.parts),
    conversationId: contextId,
    idempotencyKey,
    // Method and params, not the message: the context id generated above differs in every repeat.
    request: idempotencyKey === undefined ? undefined : canonicalJson([method, withoutInvisibleIn(params)]),
    a2a: detailsOf(message, contextId, gridRoutingUri(config)),
  })
  return codec.writeReceipt({
    messageId: sent.id,
    text: `Message delivered to ${sent.recipient}${changesOf(sent)}`,
    contextId: config.a2aPlainReceipts ? undefined : sent.conversationId ?? undefined,
    metadata: config.a2aPlainReceipts ? undefined : receiptMetadata(sent),
  })
}

/** How the delivered message differs from what was sent, in words and for programs. */
function changesOf({ sanitized, redacted }: SentMessage): string {
  const cleaned = sanitized ? ', without its invisible characters' : ''
  return redacted ? `${cleaned}, with masked texts (${redacted.join(', ')})` : cleaned
}

/** What the receipt says besides the delivery; undefined for nothing. */
function receiptMetadata(
  { recipientPresence: presence, sanitized, redacted, hops, turns }: SentMessage,
): Record<string, unknown> | undefined {
  if (presence === undefined && !sanitized && !redacted && hops === 0 && turns === undefined) return undefined
  return {
    ...(presence !== undefined && { recipient_presence: presence }),
    ...(sanitized && { sanitized }),
    ...(redacted && { redacted }),
    ...(hops > 0 && { hops }),
    ...(turns !== undefined && { turns, note: turnsNote(turns) }),
  }
}

/** The error of a request whose recipient is valid, or undefined when the request is valid too. */
function contentError({ message, push }: SendRequest): GridError | undefined {
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

/** All text parts in their order, joined by line breaks. */
function joinedText(parts: Part[]): string {
  return parts.flatMap((part) => 'text' in part ? [part.text] : []).join('\n')
}

/** What the recipient gets beyond the text. Parts are kept only if they hold more than the text. */
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
