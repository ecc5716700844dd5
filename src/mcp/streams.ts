/**
 * Event streams: GET in the older revisions, `subscriptions/listen`, and late answers. MCP 2025-11-25 and 2026-07-28,
 * "Streamable HTTP".
 */
import { type RequestId, SERVER_INFO_META_KEY, SUBSCRIPTION_ID_META_KEY } from '@modelcontextprotocol/server'
import { GridError } from '../errors.ts'
import type { InboxEvent } from '../grid/messaging/wait-for-messages.ts'
import { names } from '../lib/http/accept.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream, eventStreamType, heartbeat, retryHint, streamHeaders } from '../lib/http/event-stream.ts'
import { type RpcAnswer, serverInfo } from './protocol.ts'
import { inboxUri } from './resources.ts'
import { endLease } from '../answers/lease.ts'
import { heartbeatMs, type Toolset, type WatchableInbox } from './toolset.ts'

/**
 * Notifies a client of an older revision of changes to its inbox. The client need not subscribe, because the grid has
 * no sessions to store subscriptions. Fails with `method_not_allowed`. A reached stream limit gets this error too,
 * because clients reopen a closed stream every second.
 */
export function inboxStream({ headers }: Request, { inbox }: Toolset): Response {
  const events = names(headers, eventStreamType) ? inbox?.watch() : undefined
  if (!inbox || !events) {
    throw new GridError(
      'method_not_allowed',
      inbox
        ? 'Send MCP messages with POST. GET opens an event stream with Accept: text/event-stream, up to 3 per credential.'
        : 'Send MCP messages with POST; there is no event stream here.',
    )
  }
  return eventStream(inboxFrames(events, retryHint + heartbeat, inboxUpdated()), inbox.connection)
}

/**
 * Answers `subscriptions/listen`: confirms the subscriptions, streams changes, and sends the result when the stream
 * ends. Fails with `rate_limit_exceeded` if the credential has reached its stream limit.
 */
export function listenStream(id: RequestId, watchesInbox: boolean, inbox: WatchableInbox): Response {
  const events = watchesInbox ? inbox.watch() : noEvents()
  if (!events) {
    const message = 'This credential has 3 open streams. Close one of them first.'
    throw new GridError('rate_limit_exceeded', message, { retryAfterSeconds: 15 })
  }
  const _meta = { [SUBSCRIPTION_ID_META_KEY]: id }
  const notifications = watchesInbox ? { resourceSubscriptions: [inboxUri] } : {}
  const acknowledged = messageEvent({
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications, _meta },
  })
  const ended = messageEvent({
    id,
    result: { resultType: 'complete', _meta: { ..._meta, [SERVER_INFO_META_KEY]: serverInfo } },
  })
  return eventStream(inboxFrames(events, acknowledged, inboxUpdated(_meta), ended), inbox.connection)
}

async function* inboxFrames(
  events: AsyncGenerator<InboxEvent>,
  opening: string,
  updated: string,
  closing = '',
): AsyncGenerator<string> {
  // The opening is sent with the first event, because only then does the stream count towards the credential's limit.
  let pending = opening
  for await (const inboxEvent of events) {
    yield pending + (inboxEvent === 'unread' ? updated : heartbeat)
    pending = ''
  }
  if (closing !== '') yield pending + closing
}

async function* noEvents(): AsyncGenerator<InboxEvent> {}

function inboxUpdated(_meta?: object): string {
  return messageEvent({ method: 'notifications/resources/updated', params: { uri: inboxUri, _meta } })
}

function messageEvent(message: object): string {
  return event(JSON.stringify({ jsonrpc: '2.0', ...message }), 'message')
}

/** Sends the answer as an event stream with one event, for clients that do not accept JSON. */
export function streamedAnswer(body: object): Response {
  return new Response(event(JSON.stringify(body), 'message'), { headers: streamHeaders })
}

/** Sends the answer as the only event of a stream, with heartbeats until it is ready. */
export function lateAnswer(answer: Promise<RpcAnswer>, connection: CallerConnection): Response {
  return eventStream(lateFrames(answer, connection), connection)
}

async function* lateFrames(answer: Promise<RpcAnswer>, connection: CallerConnection): AsyncGenerator<string> {
  let isSent = false
  try {
    yield heartbeat
    while (!await comesWithin(heartbeatMs, answer)) yield heartbeat
    const { body, lease } = await answer
    const frame = event(JSON.stringify(body), 'message')
    if (await connection.hasLeft()) return
    if (lease) endLease(lease, connection)
    isSent = true
    yield frame
  } finally {
    // The caller has disconnected, perhaps before receiving the last heartbeat.
    if (!isSent) await (await answer).lease?.release()
  }
}

async function comesWithin(ms: number, coming: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms)
  })
  return await Promise.race([coming.then(() => true), late]).finally(() => clearTimeout(timer))
}
