/** Running one check until its deadline. */
import { clearTimeout, setTimeout } from 'node:timers'
import { ProviderFailure } from './provider-failure.ts'
import type { GuardedText, GuardrailCheck, ProviderTools, Verdict } from './provider.ts'

/**
 * What a check says of a text, at the latest when `tools.signal` is aborted. A provider that ignores the signal is left
 * alone then: its answer is dropped. Fails with a `ProviderFailure` of the reason `timeout`, or as the check does.
 */
export async function runCheck(check: GuardrailCheck, guarded: GuardedText, tools: ProviderTools): Promise<Verdict> {
  const { signal } = tools
  if (signal.aborted) throw timeout()
  const verdict = check(guarded, tools)
  if (!(verdict instanceof Promise)) return verdict
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(timeout())
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([verdict, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

function timeout(): ProviderFailure {
  return new ProviderFailure('timeout', 'The provider gave no answer in time.')
}

/** A time from now. Its signal, with a timer, is made when it is first asked for: local checks need none. */
export class Deadline {
  readonly #at: number
  #controller?: AbortController
  #timer?: ReturnType<typeof setTimeout>

  constructor(ms: number) {
    this.#at = performance.now() + ms
  }

  /** Aborted when the time has come. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      const controller = this.#controller = new AbortController()
      this.#timer = setTimeout(() => controller.abort(), Math.max(0, this.#at - performance.now()))
    }
    return this.#controller.signal
  }

  /** Whether the time has come. */
  get hasPassed(): boolean {
    return this.#controller?.signal.aborted ?? false
  }

  /** Forget it: nothing will be aborted. */
  cancel(): void {
    clearTimeout(this.#timer)
  }
}
