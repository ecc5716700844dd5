/** Every operation of the REST side. A test compares them with the routes. */
import * as z from 'zod'
import { signupInput } from '../lib/input.ts'
import { apiKeyInput, apiKeyOutput } from '../oauth/api-key.ts'
import { meOutput, revokedKeyOutput } from '../rest/agent-key.ts'
import { changes, newGuardrail, page } from '../rest/guardrails.ts'
import { extension, leasedMessages, newLease, peekQuery } from '../rest/inbox.ts'
import { newMessage } from '../rest/messages.ts'
import { wakeStreamQuery } from '../rest/wake-stream.ts'
import * as answers from './answers.ts'
import type { Operation } from './operation.ts'

const lease = { lease: 'lease_id of the lease' }
const guardrail = { guardrail: 'id or name of the guardrail' }
const ok = (json: z.ZodType, description = 'Done') => ({ 200: { description, json } })

export const operations: readonly Operation[] = [
  {
    ...{ method: 'POST', path: '/api/v1/agentic-signup', id: 'signUp', tag: 'Signup' },
    summary: 'Register an agent',
    body: signupInput,
    answers: { 201: { description: 'The agent with its key', json: answers.signedUp } },
    errors: [
      ...['invalid_alias', 'invalid_email', 'alias_taken', 'alias_reserved', 'agent_limit_reached'] as const,
      ...['signup_rate_limited', 'storage_full'] as const,
    ],
  },
  {
    ...{ method: 'GET', path: '/api/v1/inbox', id: 'peekInbox', tag: 'Inbox', caller: 'agent key' },
    summary: 'Look at the unread messages',
    description: 'Changes nothing.',
    query: peekQuery,
    answers: ok(answers.inbox, 'The oldest unread messages'),
    errors: ['invalid_input'],
  },
  {
    ...{ method: 'POST', path: '/api/v1/inbox/leases', id: 'leaseMessages', tag: 'Inbox', caller: 'agent key' },
    summary: 'Lease unread messages',
    description:
      'Nobody else gets them until the lease expires, is released or acknowledged. Messages that come back are flagged redelivered; at their fifth return they are parked.',
    body: newLease,
    isBodyOptional: true,
    answers: ok(answers.lease, 'The lease, or null if nothing is unread'),
    errors: ['invalid_input', 'lease_limit_reached', 'storage_full'],
  },
  {
    ...{ method: 'POST', path: '/api/v1/inbox/leases/{lease}/extend', id: 'extendLease', tag: 'Inbox' },
    caller: 'agent key',
    summary: 'Let a lease last longer',
    parameters: lease,
    body: extension,
    answers: ok(answers.extended),
    errors: ['invalid_input', 'stale_lease', 'storage_full'],
  },
  {
    ...{ method: 'POST', path: '/api/v1/inbox/leases/{lease}/ack', id: 'ackLease', tag: 'Inbox', caller: 'agent key' },
    summary: 'Acknowledge messages of a lease: the work is done',
    parameters: lease,
    body: leasedMessages,
    isBodyOptional: true,
    answers: ok(answers.acked),
    errors: ['invalid_input', 'stale_lease', 'storage_full'],
  },
  {
    ...{ method: 'POST', path: '/api/v1/inbox/leases/{lease}/release', id: 'releaseLease', tag: 'Inbox' },
    caller: 'agent key',
    summary: 'Give messages of a lease back: they are unread again',
    parameters: lease,
    body: leasedMessages,
    isBodyOptional: true,
    answers: ok(answers.released),
    errors: ['invalid_input', 'stale_lease', 'storage_full'],
  },
  {
    ...{ method: 'POST', path: '/api/v1/messages', id: 'sendMessage', tag: 'Messages', caller: 'agent key' },
    summary: 'Send a message',
    description: 'With acks, what it answers is acknowledged when it is stored, or neither happens.',
    headers: { 'Idempotency-Key': 'A repeat with the same key, within 7 days, sends once and is answered alike' },
    body: newMessage,
    answers: { 201: { description: 'The message is stored', json: answers.sent } },
    errors: [
      ...['invalid_input', 'message_too_long', 'self_message', 'recipient_not_found', 'channel_not_found'] as const,
      ...['not_channel_member', 'message_not_found', 'idempotency_conflict', 'stale_lease', 'trial_expired'] as const,
      ...[
        'quota_exceeded',
        'guardrail_blocked',
        'guardrail_unavailable',
        'conversation_paused',
        'storage_full',
      ] as const,
    ],
  },
  {
    ...{ method: 'GET', path: '/api/v1/parts/{id}', id: 'getPart', tag: 'Messages', caller: 'agent key' },
    summary: 'Fetch a large part of a message',
    parameters: { id: 'part_id from the message' },
    headers: {
      Range: 'One range of bytes',
      'If-Range': 'The ETag of the part',
      'If-None-Match': 'The ETag of the part',
    },
    answers: {
      200: {
        description: 'The part, in the media type of its sender',
        content: '*/*',
        headers: { ETag: 'Its version' },
      },
      206: { description: 'The range', content: '*/*', headers: { 'Content-Range': 'Which bytes these are' } },
      304: { description: 'The part is the one that the caller has' },
    },
    errors: ['part_not_found', 'range_not_satisfiable'],
  },
  {
    ...{ method: 'GET', path: '/api/agents/wake-stream', id: 'openWakeStream', tag: 'Inbox', caller: 'agent' },
    summary: 'Be told when messages wait',
    description:
      'Server-sent events: "data: wake" while messages are unread, and comments that show that the stream is alive.',
    query: wakeStreamQuery,
    answers: { 200: { description: 'The stream', content: 'text/event-stream' } },
    errors: ['invalid_input'],
  },
  {
    ...{ method: 'GET', path: '/api/v1/guardrails', id: 'listGuardrails', tag: 'Guardrails', caller: 'admin' },
    summary: 'List the guardrails of the account',
    query: page,
    answers: ok(answers.guardrailList),
    errors: ['invalid_input', 'storage_full'],
  },
  {
    ...{ method: 'POST', path: '/api/v1/guardrails', id: 'createGuardrail', tag: 'Guardrails', caller: 'admin' },
    summary: 'Make a guardrail',
    body: newGuardrail,
    answers: {
      201: { description: 'The guardrail', json: answers.guardrail, headers: { Location: 'Where it is' } },
    },
    errors: ['invalid_input', 'guardrail_taken', 'write_conflict', 'storage_full'],
  },
  {
    ...{
      method: 'GET',
      path: '/api/v1/guardrails/{guardrail}',
      id: 'getGuardrail',
      tag: 'Guardrails',
      caller: 'admin',
    },
    summary: 'Show a guardrail',
    parameters: guardrail,
    answers: ok(answers.guardrail),
    errors: ['guardrail_not_found', 'storage_full'],
  },
  {
    ...{ method: 'PATCH', path: '/api/v1/guardrails/{guardrail}', id: 'updateGuardrail', tag: 'Guardrails' },
    caller: 'admin',
    summary: 'Change a guardrail; what is not named stays',
    parameters: guardrail,
    body: changes,
    answers: ok(answers.guardrail),
    errors: ['invalid_input', 'guardrail_not_found', 'guardrail_taken', 'write_conflict', 'storage_full'],
  },
  {
    ...{ method: 'DELETE', path: '/api/v1/guardrails/{guardrail}', id: 'deleteGuardrail', tag: 'Guardrails' },
    caller: 'admin',
    summary: 'Delete a guardrail',
    parameters: guardrail,
    answers: ok(answers.deletedGuardrail),
    errors: ['guardrail_not_found', 'write_conflict', 'storage_full'],
  },
  {
    ...{ method: 'POST', path: '/api/oauth/api-key', id: 'fetchAgentKey', tag: 'Keys', caller: 'agent access token' },
    summary: 'Fetch a static key of the agent that the client signed in as',
    body: apiKeyInput,
    isBodyOptional: true,
    answers: ok(apiKeyOutput),
    errors: ['agent_token_required', 'invalid_input', 'key_limit_reached', 'write_conflict', 'storage_full'],
  },
  {
    ...{ method: 'GET', path: '/api/v1/me', id: 'getCaller', tag: 'Keys', caller: 'agent key' },
    summary: 'Say whose key this is',
    answers: ok(meOutput),
  },
  {
    ...{ method: 'DELETE', path: '/api/v1/key', id: 'revokeKey', tag: 'Keys', caller: 'agent key' },
    summary: 'Revoke the key that calls',
    answers: ok(revokedKeyOutput),
    errors: ['write_conflict', 'storage_full'],
  },
  {
    ...{ method: 'GET', path: '/api/v1/openapi.json', id: 'getOpenApi', tag: 'About' },
    summary: 'This document',
    answers: ok(z.record(z.string(), z.unknown())),
  },
]
