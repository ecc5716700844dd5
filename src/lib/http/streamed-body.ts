/** Bodies that are generated while they are being sent: downloads and event streams. */
import { minute } from '../time.ts'
import type { CallerConnection } from './caller-connection.ts'

interface StreamedBody {
  /** Number of pieces generated before the client reads them. */
  ahead: 0 | 1
  /** Time after which a client that reads no piece is disconnected. */
  maxStallMs?: number
  /** Time after which a client that has not read everything is disconnected. */
  maxMs?: number
  /** Called once, when no pieces remain in memory. */
  release?(): void
}

/** Streams pieces, each generated once the previous one was read. Closes `connection` when the stream ends. */
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
    // The client has left and nobody awaits this, so a rejection would end the process.
    await pieces.return?.().catch(() => {})
    release?.()
  }

  return new ReadableStream<Uint8Array>({
    start(controller) {
      // The truncated body must not look complete.
      const disconnect = () => {
        if (hasEnded) return
        // Where the server cannot close the connection, an error in the body does so.
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
        // The client has left, so nothing can be written or closed.
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
