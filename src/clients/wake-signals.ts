/** Signals that an inbox should be checked. */
import { second } from '../lib/time.ts'
import { isCredentialGone, pause, reconnectMs, retryAfterMs } from './grid-call.ts'
import type { GridClient, WakeStreamOptions } from './grid-client.ts'

interface WakeSignalOptions extends WakeStreamOptions {
  signal: AbortSignal
  log(message: string): void
}

/** A stream that stayed open this long resets the reconnect delay. */
const goodStreamMs = 10 * second

/**
 * Keeps a wake stream open, and lets the caller raise signals too. Several signals before the next check count as one.
 */
export class WakeSignals {
  readonly #grid: GridClient
  readonly #options: WakeSignalOptions
  #isRaised = false
  #isOver = false
  #notify = () => {}
  #timer: NodeJS.Timeout | undefined

  constructor(grid: GridClient, options: WakeSignalOptions) {
    this.#grid = grid
    this.#options = options
    options.signal.addEventListener('abort', () => this.#end(), { once: true })
    if (options.signal.aborted) this.#end()
  }

  /**
   * Keeps the stream open until the signal aborts. Rejects if the credential is invalid; no more signals follow then.
   */
  async follow(): Promise<void> {
    const { signal, log } = this.#options
    try {
      for (let failures = 0; !signal.aborted;) {
        let openedAt: number | undefined
        let retryMs = 0
        try {
          // A stream's first event reports whether messages are unread.
          for await (const event of this.#grid.wakeStream(this.#options)) {
            openedAt ??= performance.now()
            if (event === 'unread') this.raise()
          }
        } catch (error) {
          if (signal.aborted) return
          if (isCredentialGone(error)) throw error
          if (failures === 0) log(`The wake stream ended: ${(error as Error).message}`)
          retryMs = retryAfterMs(error) ?? 0
        }
        failures = performance.now() - (openedAt ?? Infinity) > goodStreamMs ? 0 : failures + 1
        await pause(Math.max(retryMs, reconnectMs(failures)), signal)
      }
    } finally {
      this.#end()
    }
  }

  raise(): void {
    this.#isRaised = true
    this.#notify()
  }

  /** Raises a signal after a delay. A new call replaces the pending one. */
  raiseIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.raise(), ms)
  }

  /** Resolves to true at a signal, and to false when no more signals will follow. */
  async next(): Promise<boolean> {
    while (!this.#isRaised && !this.#isOver) await new Promise<void>((resolve) => this.#notify = resolve)
    this.#isRaised = false
    return !this.#isOver
  }

  #end(): void {
    clearTimeout(this.#timer)
    this.#isOver = true
    this.#notify()
  }
}
