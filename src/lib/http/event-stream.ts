/** Server-sent events. @see HTML Living Standard §9.2 */
import type { CallerConnection } from './caller-connection.ts'

/** The headers of every stream. Proxies must not buffer or change it. */
export const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/** Tells clients to wait 15 s before they reopen a lost stream. Otherwise some try every second. */
export const retryHint = retryAfter(15_000)

/** Only an event ends with a blank line. After anything else, Python clients (httpx-sse) dispatch an empty event. */
export function retryAfter(ms: number): string {
  return `retry: ${ms}\n`
}

/** A comment, which shows that the stream is alive. */
export const heartbeat = ': heartbeat\n'

/** Formats one event. `data` must not contain line breaks. The client sends the last `id` when it reopens the stream. */
export function event(data: string, name?: string, id?: number): string {
  const fields = [id !== undefined && `id: ${id}`, name !== undefined && `event: ${name}`, `data: ${data}`]
  return `${fields.filter((field) => field !== false).join('\n')}\n\n`
}

/**
 * A response that streams frames. The next frame is generated when the client has read the last one, so nothing is
 * buffered for a slow client. When the client leaves, or has not taken a frame within `maxStallMs`, `connection` is closed.
 */
export function eventStream(
  frames: AsyncGenerator<string>,
  connection: CallerConnection,
  { maxStallMs }: { maxStallMs?: number } = {},
): Response {
  const encoder = new TextEncoder()
  let stalled: ReturnType<typeof setTimeout> | undefined
  let hasEnded = false
  async function end(): Promise<void> {
    hasEnded = true
    clearTimeout(stalled)
    connection.close()
    // The client has left, so no one waits for this: a rejection would end the process.
    await frames.return(undefined).catch(() => {})
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(stalled)
      const { value, done } = await frames.next()
      // The client has left: nothing can be written or closed.
      if (hasEnded) return
      if (done) return controller.close()
      if (maxStallMs !== undefined) {
        stalled = setTimeout(() => {
          // Also what the server holds for it.
          void connection.answerSent(0)
          controller.close()
          void end()
        }, maxStallMs)
      }
      controller.enqueue(encoder.encode(value))
    },
    cancel: end,
  })
  return new Response(body, { headers: streamHeaders })
}
