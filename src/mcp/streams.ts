/**
 * Event streams of the MCP endpoint besides the SDK's: the GET stream of the older revisions, and answers that take so
 * long that the connection must be kept alive. MCP 2025-11-25, "Streamable HTTP".
 */
import { GridError } from '../errors.ts'
import type { InboxEvent } from '../grid/messaging/watch-inbox.ts'
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream, heartbeat, retryHint } from '../lib/http/event-stream.ts'
import { inboxUri } from './resources.ts'
import type { RpcAnswer } from './shortcut.ts'
import { endLease } from './tool.ts'
import { heartbeatMs, type Toolset } from './toolset.ts'

const inboxUpdated = event(
  JSON.stringify({ jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: inboxUri } }),
  'message',
)

/**
 * Tells a client of an older revision that its inbox changed. Every such stream does: without sessions the grid cannot
 * know whether the client subscribed.
 *
 * Fails with `method_not_allowed`, also when the credential has all its streams: a client whose stream was closed
 * instead would open it again every second.
 */
export function inboxStream({ headers }: Request, { inbox }: Toolset): Response {
  const events = headers.get('accept')?.includes('text/event-stream') ? inbox?.watch() : undefined
  if (!inbox || !events) {
    throw new GridError(
      'method_not_allowed',
      inbox
        ? 'Send MCP messages with POST. GET opens an event stream with Accept: text/event-stream, up to 3 per credential.'
        : 'Send MCP messages with POST; there is no event stream here.',
    )
  }
  return eventStream(inboxFrames(events), inbox.connection)
}

async function* inboxFrames(events: AsyncGenerator<InboxEvent>): AsyncGenerator<string> {
  let opening = retryHint + heartbeat
  for await (const inboxEvent of events) {
    yield opening + (inboxEvent === 'unread' ? inboxUpdated : heartbeat)
    opening = ''
  }
}

/** The answer as the only event of a stream, with heartbeats until it comes. */
export function lateAnswer(answer: Promise<RpcAnswer>, connection: CallerConnection): Response {
  return eventStream(lateFrames(answer, connection), connection)
}

async function* lateFrames(answer: Promise<RpcAnswer>, connection: CallerConnection): AsyncGenerator<string> {
  let isSent = false
  try {
    yield heartbeat
    while (!await comesWithin(heartbeatMs, answer)) yield heartbeat
    const { message, lease } = await answer
    const frame = event(JSON.stringify(message), 'message')
    if (await connection.hasLeft()) return
    if (lease) endLease(lease, connection)
    isSent = true
    yield frame
  } finally {
    // The caller has left, perhaps before it took the last heartbeat.
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
