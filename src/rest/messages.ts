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
  reply_to_message_id: identifier.optional().describe('message_id of what this answers'),
  parts: partsInput.optional(),
  choices: choicesInput.optional(),
  conversation_id: identifier.optional().describe('Without it, that of what this answers'),
  expires_in_seconds: z.int().min(expirySeconds.min).max(expirySeconds.max).optional()
    .describe('Not given to a reader any more if it is unread by then; without it, it does not expire'),
  send_at: z.union([identifier, z.int()]).optional().describe('When to send it: an ISO 8601 time, or seconds from now'),
  acks: acks.optional().describe('The messages that this answers; they are acknowledged when it is stored'),
  wait_seconds: z.int().min(0).max(maxWaitSeconds).optional().describe('How long to wait for the answer'),
  answers: z.int().min(1).optional().describe('With wait_seconds, in a channel: for how many answers to wait'),
  next: nextLease.optional().describe('Lease the next messages with it; the fields of a lease, also wait_seconds'),
})

const sent = z.object({
  message_id: z.string(),
  timestamp: time('When it was stored').optional(),
  send_at: time('When it will be sent, in place of all that follows').optional(),
  recipient: z.string().describe('@alias or #channel'),
  unread: unread('How many messages of the sender are unread').optional(),
  sanitized: flag('Invisible characters were removed from it'),
  ...turns,
  note: z.string().optional().describe('What the sender is to know or to do'),
  recipient_presence: z.string().optional()
    .describe('attended, runner, waiting, or how long it has been away; only for an agent of the same account'),
  recipient_last_seen: time('Only for an agent of the same account').nullable().optional(),
  recipient_unread: z.int().optional(),
  recipient_inbox: z.object({
    unread: z.int().describe('All of its unread messages'),
    max: z.int().describe('From so many on it takes no more'),
    refused: z.int().describe('Messages that it refused today, because it was full'),
  }).optional().describe('Only for an agent of the same account, from 80 % of its quota on'),
  recipients: z.int().optional().describe('Other members of the channel'),
  recipients_active: z.int().optional(),
  recipients_woken: z.int().optional().describe('How many the post wakes, if not all'),
  left_out: z.int().optional().describe('Members whose guardrails blocked it'),
  redacted: names.optional().describe('What guardrails masked'),
  held: z.object({
    by: names.describe('Who may decide, by alias or name; empty if that is for people of another account'),
    until: time('Then it is refused'),
  }).optional().describe('It waits for the decision of a person, and its recipient does not have it yet'),
  task_id: z.string().optional().describe('The task that it completed'),
  open_task: z.string().optional().describe('A task of the recipient that the sender works on, and that stays open'),
  answer: z.object({
    messages: z.array(gridMessage).describe('The answer, or nothing'),
    unread: unread('How many other messages are unread'),
    note: z.string().optional().describe('Without an answer: what happened to the message, and how to go on'),
  }).optional().describe('Only with wait_seconds'),
  next: z.union([leased, z.object({ error: z.object({ code: z.string(), message: z.string() }) })]).optional()
    .describe('The lease; with error, nothing was leased, and the message is stored'),
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
    description: 'With acks, the message is stored and what it answers is acknowledged together, or neither happens.',
    caller: 'agent key',
    headers: { 'Idempotency-Key': 'A repeat with the same key within 7 days sends nothing and gets the same answer' },
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
    description: 'A message to a channel can be retracted until one of the members has it.',
    caller: 'agent key',
    parameters: { id: 'message_id of a message that the agent sent' },
    answers: { 200: { description: 'It is retracted', json: retracted } },
    errors: ['message_not_found', 'message_read', 'storage_full'],
    serve: ({ account, params }) => retractMessage(account, callingAgent(account.actor), parse(identifier, params.id)),
  }),
]

/** The message is already stored, so the response contains later errors instead of failing. */
async function nextAnswer(call: Pick<Call<unknown, unknown>, 'account' | 'c' | 'check'>, next: Promise<TimedLease>) {
  try {
    return await leaseAnswer(call, await next)
  } catch (error) {
    const { code, message } = call.c.get('trace').refusal(error)
    return { error: { code, message } }
  }
}
