/** A request's connection: whether the caller has closed it, and whether the caller received the response. */
import { setImmediate } from 'node:timers/promises'

/** The server's reports about a connection. Not every runtime provides them. */
export interface ConnectionReports {
  /**
   * Resolves to whether the caller has disconnected. This takes a moment, because a runtime notices a closed connection
   * only when it checks.
   */
  hasLeft?(): Promise<boolean>
  /**
   * Call this before the handler returns its response. Resolves to whether the caller received the complete response,
   * as far as this machine can know. False if the operating system did not accept all of the response, or if the caller
   * reset the connection soon afterwards. See docs/delivery.md, "Reading".
   */
  answerTaken?(): Promise<boolean>
  /**
   * Call this before the handler returns its response. Resolves when the operating system has accepted all of the
   * response or the connection is closed, at the latest after `withinMs`.
   */
  answerSent?(withinMs: number): Promise<void>
}

export class CallerConnection {
  readonly #request: Request
  readonly #reports: ConnectionReports
  #controller: AbortController | undefined

  constructor(request: Request, reports: ConnectionReports = {}) {
    this.#request = request
    this.#reports = reports
  }

  /** Whether the caller has disconnected. Uses the request's signal if the server does not report this. */
  async hasLeft(): Promise<boolean> {
    if (this.#reports.hasLeft) return await this.#reports.hasLeft()
    // A local commit may not yield to the event loop, which notices a closed connection only in its next iteration.
    await setImmediate()
    return this.#request.signal.aborted
  }

  /** See `ConnectionReports`. Like the next method, returns undefined if the server does not report it. */
  answerTaken(): Promise<boolean> | undefined {
    return this.#reports.answerTaken?.()
  }

  answerSent(withinMs: number): Promise<void> | undefined {
    return this.#reports.answerSent?.(withinMs)
  }

  /** Aborts when the caller disconnects. Created on first use, because on Node a request's signal is expensive. */
  get signal(): AbortSignal {
    return (this.#controller ??= this.#followRequest()).signal
  }

  /** Call this when the caller has closed the connection or cancelled the response. */
  close(): void {
    this.#controller ??= this.#followRequest()
    this.#controller.abort()
  }

  #followRequest(): AbortController {
    const controller = new AbortController()
    const { signal } = this.#request
    if (signal.aborted) controller.abort()
    else signal.addEventListener('abort', () => controller.abort(), { once: true })
    return controller
  }
}
