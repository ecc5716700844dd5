/** Rings once however often it was rung; what rings while nobody listens is heard next. */
export class Bell {
  #rung = false
  #hear: (() => void) | undefined

  ring(): void {
    this.#rung = true
    this.#hear?.()
  }

  /** Resolves at the next ring, or at once when there was one since the last. For one listener. */
  async rings(): Promise<void> {
    if (!this.#rung) await new Promise<void>((resolve) => this.#hear = resolve)
    this.#hear = undefined
    this.#rung = false
  }
}

/**
 * Who in this process waits for mail, by agent. A wake-up says "look again" and nothing else, so one too
 * many does no harm. Ids of agents are unique over all accounts: we make them.
 */
export class Wakes {
  readonly #bells = new Map<string, Set<Bell>>()
  readonly #onFirst: () => void

  /** `onFirst` is called when somebody begins to wait and nobody did. */
  constructor(onFirst: () => void = () => {}) {
    this.#onFirst = onFirst
  }

  /** Whether anybody waits. */
  get areHeard(): boolean {
    return this.#bells.size > 0
  }

  /** Ring `bell` at each wake-up of an agent, until the answer is called. */
  listen(agentId: string, bell: Bell): () => void {
    const isFirst = !this.areHeard
    const bells = this.#bells.get(agentId) ?? new Set()
    this.#bells.set(agentId, bells.add(bell))
    if (isFirst) this.#onFirst()
    return () => {
      bells.delete(bell)
      if (bells.size === 0 && this.#bells.get(agentId) === bells) this.#bells.delete(agentId)
    }
  }

  wake(agentIds: Iterable<string>): void {
    for (const id of agentIds) this.#bells.get(id)?.forEach((bell) => bell.ring())
  }

  wakeAll(): void {
    this.wake(this.#bells.keys())
  }
}
