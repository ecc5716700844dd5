/** A stream of an operation as server-sent events, in both bindings. See docs/protocol.md, "Task streams". */
import type { CallerConnection } from '../lib/http/caller-connection.ts'
import { event, eventStream } from '../lib/http/event-stream.ts'
import { minute } from '../lib/time.ts'
import type { EventStream, StreamItem } from './method-call.ts'

const ping = ': ping\n\n'

/** A client that has not taken an event for this long is dropped. It comes back with `Last-Event-ID`, and misses nothing. */
const maxStallMs = minute

/** The response of a stream; `frame` makes the data of an event from a result. */
export function streamResponse(
  { items }: EventStream,
  connection: CallerConnection,
  headers: Record<string, string>,
  frame: (result: unknown) => unknown,
): Response {
  const response = eventStream(frames(items, frame), connection, { maxStallMs })
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

async function* frames(
  items: AsyncGenerator<StreamItem>,
  frame: (result: unknown) => unknown,
): AsyncGenerator<string> {
  for await (const item of items) {
    yield item === 'heartbeat' ? ping : event(JSON.stringify(frame(item.result)), undefined, item.id)
  }
}
