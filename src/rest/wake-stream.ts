/**
 * `GET /api/agents/wake-stream`: notifies an agent's program of unread messages. See docs/protocol/rest.md, "Wake
 * stream", and docs/security.md, "Overload".
 */
import * as z from 'zod'
import { callingAgent } from '../auth/actor.ts'
import { GridError } from '../errors.ts'
import { refusal } from '../grid/answer-room.ts'
import { type InboxEvent, watchInbox } from '../grid/messaging/wait-for-messages.ts'
import { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream, heartbeat, retryHint } from '../lib/http/event-stream.ts'
import { clientName } from '../lib/input.ts'
import type { Presence } from '../presence.ts'
import { second } from '../lib/time.ts'
import { route } from './route.ts'

const heartbeatMs = 15 * second

/** The event has no name, because clients listen with `onmessage`. */
const wake = event('wake')

/** The kind of listener. If both fields are missing, it is a program that only waits. */
const wakeStreamQuery = z.object({
  attended: clientName.optional().describe('The program through which a person attends the agent'),
  runner: clientName.optional().describe('The program that runs the agent while nobody attends it'),
})

export const wakeStreamRoute = route({
  method: 'GET',
  path: '/api/agents/wake-stream',
  id: 'openWakeStream',
  tag: 'Inbox',
  summary: 'Get a signal when messages are unread',
  description: 'Server-sent events: "data: wake" while messages are unread, and comments that keep the stream alive.',
  caller: 'agent',
  isOpenToPages: true,
  query: wakeStreamQuery,
  answers: { 200: { description: 'The stream', content: 'text/event-stream' } },
  errors: ['invalid_input'],
  serve({ account, c, check, query }) {
    const request = c.req.raw
    // Hono answers HEAD with the GET handler and drops the body, so the stream would never end.
    if (request.method !== 'GET') throw new GridError('method_not_allowed', 'Open the wake stream with GET.')

    const connection = new CallerConnection(request, c.env)
    const presence = presenceIn(query)
    const events = watchInbox(account, { heartbeatMs, check, caller: connection, presence })
    if (events) return eventStream(wakeFrames(events), connection)
    const reached = account.waiting.streams.reached(callingAgent(account.actor).credentialId)!
    throw refusal('streams', reached, 'open streams', 'Close one of them first.', 15)
  },
})

function presenceIn({ attended, runner }: z.output<typeof wakeStreamQuery>): Presence | undefined {
  if (attended !== undefined && runner !== undefined) {
    throw new GridError('invalid_input', 'Give attended or runner, not both.', { field: 'runner' })
  }
  if (attended !== undefined) return { state: 'attended', client: attended }
  return runner === undefined ? undefined : { state: 'runner', client: runner }
}

async function* wakeFrames(events: AsyncGenerator<InboxEvent>): AsyncGenerator<string> {
  let opening = retryHint
  for await (const inboxEvent of events) {
    yield opening + (inboxEvent === 'unread' ? wake : heartbeat)
    opening = ''
  }
}
