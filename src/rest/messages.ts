/** `/api/v1/messages`: sending and retracting messages. See docs/protocol/rest.md, "Messages". */
import * as z from 'zod'
import { callingAgent } from '../auth/actor.ts'
import { GridError, invalidInput } from '../errors.ts'
import { givenParts } from '../grid/message/given-parts.ts'
import { ask, askChannel } from '../grid/messaging/ask.ts'
import { expirySeconds } from '../grid/message/outgoing-message.ts'
import { maxTextBytes } from '../lib/text.ts'
import { sendLater, timeToSend } from '../grid/messaging/send-later.ts'
import { isSelf } from '../grid/send/resolve.ts'
import { retractMessage } from '../grid/messaging/retract-message.ts'
import { asSentAnswer } from '../grid/messaging/sent-message.ts'
import { messageLimits } from '../lib/http/body.ts'
import { choicesInput, identifier, parse, partsInput } from '../lib/input.ts'
import { settleLease } from '../answers/lease.ts'
import { sendAndTakeNext } from '../grid/messaging/take-next.ts'
import type { TimedLease } from '../grid/messaging/timed-leases.ts'
import { maxWaitSeconds } from '../grid/messaging/wait-for-messages.ts'
import { acks, asLeaseInput, asLeasePart, gridMessage, leaseAnswer, leased, nextLease, waitOf } from './inbox.ts'
import { type Call, flag, names, type Route, route, time, turns, unread } from './route.ts'

const newMessage = z.strictObject({
  to: identifier.describe('@alias or #channel'),
  message: z.string().meta({ minLength: 1, maxLength: maxTextBytes }),
  reply_to_message_id: identifier.optional().describe('message_id of the message that this one answers'),
  parts: partsInput.optional(),
  choices: choicesInput.optional(),
  conversation_id: identifier.optional().describe('Default: the conversation of the answered message'),
  expires_in_seconds: z.int().min(expirySeconds.min).max(expirySeconds.max).optional()
    .describe('When an unread message expires. Default: never'),
  send_at: z.union([identifier, z.int()]).optional().describe('When to send it: an ISO 8601 time, or seconds from now'),
  acks: acks.optional().describe(
    'The leased messages that this one answers. They are acknowledged when this one is stored',
  ),
  wait_seconds: z.int().min(0).max(maxWaitSeconds).optional().describe('How long to wait for the answer'),
  answers: z.int().min(1).optional().describe('With wait_seconds in a channel: how many answers to wait for'),
  next: nextLease.optional().describe(
    'Lease the next messages in the same call. Takes the fields of a lease request, including wait_seconds',
  ),
})

const sent = z.object({
  message_id: z.string(),
  timestamp: time('When the message was stored').optional(),
  send_at: time('When the message will be sent. If present, the fields below are absent').optional(),
  recipient: z.string().describe('@alias or #channel'),
  unread: unread('How many messages the sender has not read').optional(),
  sanitized: flag('Invisible characters were removed from the text'),
  ...turns,
  note: z.string().optional().describe('What the sender should know or do'),
  recipient_presence: z.string().optional()
    .describe('attended, runner, waiting, or how long the agent has been away. Only for agents of the same account'),
  recipient_last_seen: time('Only for agents of the same account').nullable().optional(),
  recipient_unread: z.int().optional(),
  recipient_inbox: z.object({
    unread: z.int().describe('Unread messages of the recipient'),
    max: z.int().describe('The number of unread messages at which the recipient refuses more'),
    refused: z.int().describe('Messages refused today because the inbox was full'),
  }).optional().describe('Only for agents of the same account that have used 80 % of their quota or more'),
  recipients: z.int().optional().describe('Other members of the channel'),
  recipients_active: z.int().optional(),
  recipients_woken: z.int().optional().describe('How many members the post wakes, if not all'),
  left_out: z.int().optional().describe('Members whose guardrails blocked the post'),
  redacted: names.optional().describe('What guardrails masked'),
  held: z.object({
    by: names.describe('Who may decide, by alias or name. Empty if members of another account decide'),
    until: time('When the message is refused if nobody decides'),
  }).optional().describe('The message is held until a person decides. The recipient does not have it yet'),
  task_id: z.string().optional().describe('The task that this message completed'),
  open_task: z.string().optional().describe('A task that the recipient gave the sender, and that stays open'),
  answer: z.object({
    messages: z.array(gridMessage).describe('The answer, if there is one'),
    unread: unread('The number of other unread messages'),
    note: z.string().optional().describe('If there is no answer: what happened to the message, and what to do next'),
  }).optional().describe('Only with wait_seconds'),
  next: z.union([leased, z.object({ error: z.object({ code: z.string(), message: z.string() }) })]).optional()
    .describe('The lease. If it has error, nothing was leased, but the message is stored'),
})

const retracted = z.object({
  message_id: z.string(),
  recipient: z.string().describe('@alias or #channel'),
  delivery: z.literal('retracted'),
})

export const messageRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/api/v1/messages',
    id: 'sendMessage',
    tag: 'Messages',
    summary: 'Send a message',
    description:
      'With acks, storing the message and acknowledging the answered messages either both succeed or both fail.',
    caller: 'agent key',
    headers: {
      'Idempotency-Key': 'A repeat with the same key within 7 days sends nothing and returns the same response',
    },
    body: newMessage,
    limits: messageLimits,
    answers: { 201: { description: 'The message is stored', json: sent } },
    errors: [
      'invalid_input',
      'message_too_long',
      'payload_too_large',
      'self_message',
      'recipient_not_found',
      'channel_not_found',
      'not_channel_member',
      'message_not_found',
      'idempotency_conflict',
      'lease_not_found',
      'stale_lease',
      'trial_expired',
      'quota_exceeded',
      'guardrail_blocked',
      'guardrail_unavailable',
      'conversation_paused',
      'storage_full',
    ],
    async serve(call) {
      const { account, c, body } = call
      const sender = callingAgent(account.actor)
      if (isSelf(sender, body.to)) {
        throw new GridError('self_message', 'This is your own alias. Write to another agent.')
      }
      if (body.next && body.wait_seconds) {
        throw new GridError('invalid_input', 'Give wait_seconds or next, not both.', { field: 'wait_seconds' })
      }
      const content = {
        to: body.to,
        text: body.message,
        replyToMessageId: body.reply_to_message_id,
        conversationId: body.conversation_id,
        parts: body.parts && givenParts(body.parts),
        choices: body.choices,
        idempotencyKey: c.req.header('idempotency-key'),
        expiresInSeconds: body.expires_in_seconds,
      }
      if (body.send_at !== undefined) {
        const other = (['acks', 'next', 'wait_seconds', 'answers'] as const).find((field) => body[field])
        if (other) throw invalidInput(`Give send_at or ${other}, not both.`, 'send_at')
        return await sendLater(account, sender, content, timeToSend(body.send_at, account.deps.now()))
      }
      const input = { ...content, acks: asLeasePart(body.acks) }
      if (body.next) {
        const { sent, next } = await sendAndTakeNext(account, sender, input, asLeaseInput(body.next))
        return { ...asSentAnswer(sent), next: await nextAnswer(call, next(waitOf(call, body.next))) }
      }
      const wait = waitOf(call, body)
      const { sent, answer } = body.answers === undefined
        ? await ask(account, sender, input, wait)
        : await askChannel(account, sender, input, { ...wait, answers: body.answers })
      if (!answer) return asSentAnswer(sent)
      const { lease, ...shown } = answer
      if (lease) await settleLease(lease, wait.caller)
      return { ...asSentAnswer(sent), answer: shown }
    },
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/messages/{id}',
    id: 'retractMessage',
    tag: 'Messages',
    summary: 'Retract a message that has no reader yet',
    description: 'A channel message can be retracted until a member reads it.',
    caller: 'agent key',
    parameters: { id: 'message_id of a message that the agent sent' },
    answers: { 200: { description: 'It is retracted', json: retracted } },
    errors: ['message_not_found', 'message_read', 'storage_full'],
    serve: ({ account, params }) => retractMessage(account, callingAgent(account.actor), parse(identifier, params.id)),
  }),
]

/** Formats `next`. The message is already stored, so later errors are reported instead of thrown. */
async function nextAnswer(call: Pick<Call<unknown, unknown>, 'account' | 'c' | 'check'>, next: Promise<TimedLease>) {
  try {
    return await leaseAnswer(call, await next)
  } catch (error) {
    const { code, message } = call.c.get('trace').refusal(error)
    return { error: { code, message } }
  }
}
