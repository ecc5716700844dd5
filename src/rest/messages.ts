/** `POST /api/v1/messages`: sending. See docs/protocol.md, "Messages over REST". */
import * as z from 'zod'
import { callingAgent } from '../auth/actor.ts'
import type { AuthenticateCall } from '../auth/bearer.ts'
import type { Deps } from '../deps.ts'
import { GridError } from '../errors.ts'
import { maxMessageLength } from '../grid/messaging/outgoing-message.ts'
import { isSelf } from '../grid/messaging/resolve.ts'
import { sendMessage } from '../grid/messaging/send-message.ts'
import { asSentAnswer } from '../grid/messaging/sent-message.ts'
import { apiLimits } from '../lib/http/body.ts'
import { identifier, parse } from '../lib/input.ts'
import type { Handler } from '../request-context.ts'
import { messageIds } from './inbox.ts'
import { readJsonObject } from './json-body.ts'

/** The body of a send. */
export const newMessage = z.strictObject({
  to: identifier.describe('@alias or #channel'),
  // `sendMessage` counts characters; zod would count UTF-16 units.
  message: z.string().meta({ minLength: 1, maxLength: maxMessageLength }),
  reply_to_message_id: identifier.optional().describe('message_id of what this answers'),
  conversation_id: identifier.optional().describe('Without it, that of what this answers'),
  acks: z.strictObject({
    lease_id: identifier,
    message_ids: messageIds.optional().describe('Only these messages of the lease; without it, all'),
  }).optional().describe('What this answers: acknowledged when the message is stored, or neither happens'),
})

/**
 * Send a message of the calling agent: 201. Fails with `unauthenticated`, `rate_limit_exceeded`, `wrong_credential` (not
 * an agent), `self_message`, as `readJsonObject` does, or as `sendMessage` does.
 */
export function postMessage(authenticateCall: AuthenticateCall, { bodies }: Deps): Handler {
  return async function postMessage(c) {
    const { account } = await authenticateCall(c)
    const sender = callingAgent(account.actor)
    const request = c.req.raw
    const body = parse(newMessage, await readJsonObject(bodies, request, apiLimits))
    if (isSelf(sender, body.to)) {
      throw new GridError('self_message', 'This is your own alias. A message goes to another agent.')
    }
    const sent = await sendMessage(account, sender, {
      to: body.to,
      text: body.message,
      replyToMessageId: body.reply_to_message_id,
      conversationId: body.conversation_id,
      idempotencyKey: request.headers.get('idempotency-key') ?? undefined,
      acks: body.acks && { leaseId: body.acks.lease_id, messageIds: body.acks.message_ids },
    })
    return Response.json(asSentAnswer(sent), { status: 201 })
  }
}
