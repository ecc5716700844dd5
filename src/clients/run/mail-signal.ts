/** Says when a runner should look at the inbox. */
import { minute, second } from '../../lib/time.ts'
import { GridCallError, type GridClient } from '../grid-client.ts'
import { pause } from '../pause.ts'

export interface MailSignalOptions {
  /** The client, as presence shows it. */
  runner: string
  signal: AbortSignal
  log(message: string): void
}

/** A stream that lived so long was not refused. */
const goodStreamMs = minute
const maxPauseMs = minute

/**
 * Keeps a wake stream open. Streams end, so it opens the next one, with pauses of 1 s to 1 min and a jitter. `wait`
 * resolves when the stream signals, and at a time limit: a signal is only a hint.
 */
export class MailSignal {
  readonly #grid: GridClient
  readonly #options: MailSignalOptions
  #isSignalled = true
  #wake: () => void = () => {}

  constructor(grid: GridClient, options: MailSignalOptions) {
    this.#grid = grid
    this.#options = options
    options.signal.addEventListener('abort', () => this.notify(), { once: true })
  }

  /** Resolves when the signal of the options aborts. Rejects if the credential has ended. */
  async follow(): Promise<void> {
    const { runner, signal, log } = this.#options
    for (let failures = 0; !signal.aborted;) {
      const openedAt = performance.now()
      try {
        // What came while no stream was open is not signalled again.
        const onOpen = () => this.notify()
        for await (const event of this.#grid.wakeStream({ runner, signal }, onOpen)) {
          if (event === 'unread') this.notify()
        }
      } catch (error) {
        if (isCredentialGone(error)) throw error
        if (failures === 0) log(`The wake stream ended: ${(error as Error).message}`)
      }
      failures = performance.now() - openedAt > goodStreamMs ? 0 : failures + 1
      const pauseMs = Math.min(second * 2 ** failures, maxPauseMs) * (0.5 + Math.random() / 2)
      await pause(pauseMs, signal)
    }
  }

  /** Let the next `wait`, or the one that waits, resolve at once. */
  notify(): void {
    this.#isSignalled = true
    this.#wake()
  }

  /** Resolves after a signal that no `wait` has seen yet, and after `ms` at the latest. */
  async wait(ms: number): Promise<void> {
    if (!this.#isSignalled) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        timer = setTimeout(resolve, ms)
      })
      clearTimeout(timer)
    }
    this.#isSignalled = false
  }
}

/** The key was revoked, or is of no agent. Only a person can change that. */
export function isCredentialGone(error: unknown): boolean {
  return error instanceof GridCallError && (error.status === 401 || error.code === 'wrong_credential')
}
