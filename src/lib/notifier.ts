/** Remembers that it was raised until `raised` resolves. Raising it several times counts once. For one listener. */
export class Signal {
  #isRaised = false
  #resolve: (() => void) | undefined

  raise(): void {
    this.#isRaised = true
    this.#resolve?.()
  }

  /** Resolves when the signal is raised, or at once if it was raised since the last time. Then resets it. */
  async raised(): Promise<void> {
    if (!this.#isRaised) await new Promise<void>((resolve) => this.#resolve = resolve)
    this.#resolve = undefined
    this.#isRaised = false
  }
}

/**
 * Tells the callers of this process that wait for messages to read their inbox again, by agent. A needless
 * notification does no harm. Agent ids are unique across accounts, because we generate them.
 */
export class Notifier {
  readonly #signals = new Map<string, Set<Signal>>()
  readonly #onFirst: () => void

  /** `onFirst` is called when the first subscriber is added. */
  constructor(onFirst: () => void = () => {}) {
    this.#onFirst = onFirst
  }

  get hasSubscribers(): boolean {
    return this.#signals.size > 0
  }

  /** Raise `signal` at each notification of the agent. Returns the function that unsubscribes. */
  subscribe(agentId: string, signal: Signal): () => void {
    const isFirst = !this.hasSubscribers
    const signals = this.#signals.get(agentId) ?? new Set()
    this.#signals.set(agentId, signals.add(signal))
    if (isFirst) this.#onFirst()
    return () => {
      signals.delete(signal)
      if (signals.size === 0 && this.#signals.get(agentId) === signals) this.#signals.delete(agentId)
    }
  }

  notify(agentIds: Iterable<string>): void {
    for (const id of agentIds) this.#signals.get(id)?.forEach((signal) => signal.raise())
  }

  notifyAll(): void {
    this.notify(this.#signals.keys())
  }
}
