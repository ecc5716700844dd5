/** The connection of one request: when the caller closes it, and whether the whole response was sent. */
export class CallerConnection {
  readonly #request: Request
  readonly #answerTaken: (() => Promise<boolean>) | undefined
  #controller: AbortController | undefined

  /** `answerTaken` is the function of `Connection` in `listen.ts`; not all runtimes have it. */
  constructor(request: Request, answerTaken?: () => Promise<boolean>) {
    this.#request = request
    this.#answerTaken = answerTaken
  }

  /**
   * Call this before the handler returns its response. Resolves to whether the caller stayed until all of it was sent.
   * Undefined if the runtime does not report it.
   */
  answerTaken(): Promise<boolean> | undefined {
    return this.#answerTaken?.()
  }

  /** Aborts when the caller leaves. Created on first use: on Node the signal of a request is expensive. */
  get signal(): AbortSignal {
    return (this.#controller ??= this.#followRequest()).signal
  }

  /** Call this when the caller has left: it closed the connection or cancelled the response. */
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
