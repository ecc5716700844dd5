/** Server-sent events. @see HTML Living Standard §9.2 */

/** The headers of every stream; proxies neither keep it back nor change it. */
const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
}

/** Tells a client after how many milliseconds to open a lost stream again: without it some come back every second. */
export const retryHint = 'retry: 15000\n\n'

/** Keeps a silent stream open. */
export const heartbeat = ': heartbeat\n\n'

/** One event: lines of a field each. `data` holds no line breaks. */
export function event(data: string, name?: string): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`
}

/** Says when the caller of a request has left: its connection was closed, or its answer was not wanted any more. */
export class Departure {
  readonly #request: Request
  readonly #delivered: (() => Promise<boolean>) | undefined
  #controller: AbortController | undefined

  /** `delivered` as its connection has it. */
  constructor(request: Request, delivered?: () => Promise<boolean>) {
    this.#request = request
    this.#delivered = delivered
  }

  /** Asked before an answer is given: whether the caller stayed until it was sent. Undefined where nobody tells. */
  stayed(): Promise<boolean> | undefined {
    return this.#delivered?.()
  }

  /** Made when it is first asked for: on Node a request's own signal is expensive. */
  get signal(): AbortSignal {
    return (this.#controller ??= this.#follow()).signal
  }

  leave(): void {
    this.#controller ??= this.#follow()
    this.#controller.abort()
  }

  #follow(): AbortController {
    const controller = new AbortController()
    const { signal } = this.#request
    if (signal.aborted) controller.abort()
    else signal.addEventListener('abort', () => controller.abort(), { once: true })
    return controller
  }
}

/**
 * A stream of frames. The next is asked for when the client has taken the last, so a slow reader makes nothing
 * pile up. A client that goes is a departure.
 */
export function eventStream(
  frames: AsyncGenerator<string>,
  departure: Departure,
  headers: Record<string, string> = {},
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await frames.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      departure.leave()
      await frames.return(undefined)
    },
  })
  return new Response(body, { headers: { ...streamHeaders, ...headers } })
}
