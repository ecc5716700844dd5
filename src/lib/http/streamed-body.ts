/** Bodies that are generated while they are sent: downloads and event streams. */
import { minute } from '../time.ts'
import type { CallerConnection } from './caller-connection.ts'

interface StreamedBody {
  /** How many pieces are generated before the client reads them. */
  ahead: 0 | 1
  /** A client that reads no piece for this long is disconnected. */
  maxStallMs?: number
  /** A client that has not read the complete body after this time is disconnected. */
  maxMs?: number
  /** Called once, when no pieces are left in memory. */
  release?(): void
}

/**
 * Streams pieces. Each piece is generated when the previous one was read, so nothing is buffered for a slow client.
 * When the client leaves or is disconnected, `connection` is closed.
 */
export function streamedBody(
  pieces: AsyncIterator<Uint8Array>,
  connection: CallerConnection,
  { ahead, maxStallMs = minute, maxMs, release }: StreamedBody,
): ReadableStream<Uint8Array> {
  let hasEnded = false
  let stalled: ReturnType<typeof setTimeout> | undefined
  let late: ReturnType<typeof setTimeout> | undefined
  let stall = () => {}

  async function end(): Promise<void> {
    if (hasEnded) return
    hasEnded = true
    clearTimeout(stalled)
    clearTimeout(late)
    connection.close()
    // The client has disconnected and nobody awaits this call, so an unhandled rejection would terminate the process.
    await pieces.return?.().catch(() => {})
    release?.()
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      // Makes sure that the truncated body does not look complete.
      const disconnect = () => {
        if (hasEnded) return
        // If the server does not close the connection, an error in the body closes it.
        if (connection.answerSent(0) === undefined) controller.error(new Error('The client took too long.'))
        void end()
      }
      stall = () => stalled = setTimeout(disconnect, maxStallMs)
      if (maxMs !== undefined) late = setTimeout(disconnect, maxMs)
      stall()
    },
    async pull(controller) {
      clearTimeout(stalled)
      try {
        const { value, done } = await pieces.next()
        // The client has disconnected, so nothing can be written or closed.
        if (hasEnded) return
        if (done) controller.close()
        else controller.enqueue(value)
        if (done) await end()
        else stall()
      } catch (error) {
        await end()
        throw error
      }
    },
    cancel: end,
  }, { highWaterMark: ahead })
}
