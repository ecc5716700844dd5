import { LruMap } from './lru-map.ts'

/** A signal that stays raised until `raised` resolves. Raising it several times counts once. Supports one listener. */
export class Signal {
  #isRaised = false
  #resolve: (() => void) | undefined

  raise(): void {
    this.#isRaised = true
    this.#resolve?.()
  }

  /** Resolves when the signal is raised, or immediately if it was raised since the last call. Resets the signal. */
  async raised(): Promise<void> {
    if (!this.#isRaised) await new Promise<void>((resolve) => this.#resolve = resolve)
    this.#resolve = undefined
    this.#isRaised = false
  }
}

type Signals = Map<string, Set<Pick<Signal, 'raise'>>>

/** Maximum number of agents for which the notifier remembers when their last caller stopped waiting. */
const maxLeft = 10_000

/**
 * Wakes this process's callers that wait for messages, by agent. Unnecessary notifications are harmless. Agent ids are
 * unique across accounts, because the grid generates them.
 */
export class Notifier {
  readonly #signals: Signals = new Map()
  readonly #watchers: Signals = new Map()
  /** When each agent's last caller stopped waiting. */
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

  /** Whether a caller in this process waits for an event of an agent or a task. */
  isFollowed(id: string): boolean {
    return this.#signals.has(id) || this.#watchers.has(id)
  }

  /** Whether a caller in this process waits for the agent's messages, or did so less than `ms` ago. */
  wasAwaited(agentId: string, ms: number): boolean {
    return this.isAwaited(agentId) || performance.now() - (this.#left.get(agentId) ?? -Infinity) < ms
  }

  /** Raises `signal` at each notification for the agent. Returns the function that unsubscribes. */
  subscribe(agentId: string, signal: Signal): () => void {
    return this.#follow(this.#signals, agentId, signal, () => this.#left.set(agentId, performance.now()))
  }

  /**
   * Raises `signal` at each notification for an agent or a task, for a caller that does not wait for the agent's
   * messages. Returns the function that unsubscribes.
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

  /** Notifies the waiters of these agents, people or tasks. */
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
