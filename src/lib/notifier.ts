import { LruMap } from './lru-map.ts'

/** Remembers that it was raised until `raised` resolves. Multiple raises count once. Supports one listener. */
export class Signal {
  #isRaised = false
  #resolve: (() => void) | undefined

  raise(): void {
    this.#isRaised = true
    this.#resolve?.()
  }

  /** Resolves when the signal is raised, or at once if it was raised since the last call. Then resets the signal. */
  async raised(): Promise<void> {
    if (!this.#isRaised) await new Promise<void>((resolve) => this.#resolve = resolve)
    this.#resolve = undefined
    this.#isRaised = false
  }
}

type Signals = Map<string, Set<Pick<Signal, 'raise'>>>

/** Maximum number of agents whose last wait is remembered. */
const maxLeft = 10_000

/**
 * Tells callers in this process who wait for an agent's messages to read its inbox again. A needless notification does
 * no harm. Agent ids are unique across accounts, because we generate them.
 */
export class Notifier {
  readonly #signals: Signals = new Map()
  readonly #watchers: Signals = new Map()
  /** When the last caller stopped waiting, by agent. */
  readonly #left = new LruMap<string, number>(maxLeft)
  readonly #onFirst: () => void

  constructor(onFirst: () => void = () => {}) {
    this.#onFirst = onFirst
  }

  get hasSubscribers(): boolean {
    return this.#signals.size + this.#watchers.size > 0
  }

  isAwaited(agentId: string): boolean {
    return this.#signals.has(agentId)
  }

  /** Whether a caller in this process waits for anything about an agent or a task. */
  isFollowed(id: string): boolean {
    return this.#signals.has(id) || this.#watchers.has(id)
  }

  /** Whether a caller in this process is waiting for the agent's messages, or was less than `ms` ago. */
  wasAwaited(agentId: string, ms: number): boolean {
    return this.isAwaited(agentId) || performance.now() - (this.#left.get(agentId) ?? -Infinity) < ms
  }

  /** Raises `signal` on each notification of the agent. Returns a function that unsubscribes. */
  subscribe(agentId: string, signal: Signal): () => void {
    return this.#follow(this.#signals, agentId, signal, () => this.#left.set(agentId, performance.now()))
  }

  /**
   * Raises `signal` on each notification of an agent or a task, for a caller that does not wait for the agent's
   * messages. Returns a function that unsubscribes.
   */
  watch(id: string, signal: Pick<Signal, 'raise'>): () => void {
    return this.#follow(this.#watchers, id, signal)
  }

  #follow(all: Signals, id: string, signal: Pick<Signal, 'raise'>, onLast?: () => void): () => void {
    const isFirst = !this.hasSubscribers
    const signals = all.get(id) ?? new Set()
    all.set(id, signals.add(signal))
    if (isFirst) this.#onFirst()
    return () => {
      signals.delete(signal)
      if (signals.size > 0 || all.get(id) !== signals) return
      all.delete(id)
      onLast?.()
    }
  }

  /** Notifies the callers that follow these agents, people or tasks. */
  notify(ids: Iterable<string>): void {
    for (const id of ids) this.#raise(id)
  }

  notifyAll(): void {
    for (const id of [...this.#signals.keys(), ...this.#watchers.keys()]) this.#raise(id)
  }

  #raise(agentId: string): void {
    this.#signals.get(agentId)?.forEach((signal) => signal.raise())
    this.#watchers.get(agentId)?.forEach((signal) => signal.raise())
  }
}
