/** Server-sent events. @see HTML Living Standard §9.2 */
import type { CallerConnection } from './caller-connection.ts'
import { streamedBody } from './streamed-body.ts'

export const eventStreamType = 'text/event-stream'

/** The headers of every event stream. Proxies must not buffer or transform the stream. */
export const streamHeaders = {
  'Content-Type': eventStreamType,
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/** Tells clients to wait 15 s before they reopen a lost stream. Without this hint, some clients retry every second. */
export const retryHint = retryAfter(15_000)

/** Formats a retry hint. No blank line follows, because Python clients (httpx-sse) would dispatch an empty event. */
export function retryAfter(ms: number): string {
  return `retry: ${ms}\n`
}

/** A comment that keeps the stream alive. */
export const heartbeat = ': heartbeat\n'

/** Formats one event. `data` must not contain line breaks. A client that reopens the stream sends its last `id`. */
export function event(data: string, name?: string, id?: number): string {
  const fields = [id !== undefined && `id: ${id}`, name !== undefined && `event: ${name}`, `data: ${data}`]
  return `${fields.filter((field) => field !== false).join('\n')}\n\n`
}

/**
 * Creates a response that streams frames. Each frame is generated when the client has read the previous one. A client
 * that reads no frame for a minute is disconnected. After it reconnects, numbered streams report the missed events.
 */
export function eventStream(
  frames: AsyncGenerator<string>,
  connection: CallerConnection,
  { maxStallMs }: { maxStallMs?: number } = {},
): Response {
  return new Response(streamedBody(encoded(frames), connection, { ahead: 1, maxStallMs }), { headers: streamHeaders })
}

async function* encoded(frames: AsyncGenerator<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  for await (const frame of frames) yield encoder.encode(frame)
}
