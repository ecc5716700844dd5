/** Leases that a runner holds while it works: they are extended, and written down for the runner after it. */
import { second } from '../../lib/time.ts'
import { GridCallError } from '../grid-call.ts'
import type { GridClient, InboxMessage } from '../grid-client.ts'
import type { RunState } from './run-state.ts'

/** A lease that is kept from expiring. */
export interface HeldLease {
  id: string
  messages: InboxMessage[]
  /** Aborts when the lease has ended against our will: what is done about its messages cannot be acknowledged. */
  lost: AbortSignal
  /** Stop extending it, because it was acknowledged, released or lost. */
  drop(): void
}

export class HeldLeases {
  readonly #grid: GridClient
  readonly #state: RunState
  readonly #seconds: number
  readonly #log: (message: string) => void
  readonly #held = new Map<string, HeldLease>()

  constructor(grid: GridClient, state: RunState, seconds: number, log: (message: string) => void) {
    this.#grid = grid
    this.#state = state
    this.#seconds = seconds
    this.#log = log
  }

  /** Release what a runner that was killed held, so that its messages do not wait until it expires. */
  async releaseLeft(): Promise<void> {
    for (const id of this.#state.leases()) {
      await this.#grid.release(id).catch(ignoreStale)
    }
    this.#state.saveLeases([])
  }

  /** Lease messages; undefined if another reader has them by now. */
  async take(messageIds: string[]): Promise<HeldLease | undefined> {
    const { lease_id: id, messages } = await this.#grid.lease({
      message_ids: messageIds,
      limit: messageIds.length,
      seconds: this.#seconds,
    })
    if (id === null) return undefined
    const lost = new AbortController()
    const timer = setInterval(() => void this.#extend(id, lost), this.#seconds * second / 3)
    const lease: HeldLease = {
      id,
      messages,
      lost: lost.signal,
      drop: () => {
        clearInterval(timer)
        this.#held.delete(id)
        this.#save()
      },
    }
    this.#held.set(id, lease)
    this.#save()
    return lease
  }

  /** Release everything, before the runner ends. Leases that cannot be released expire. */
  async releaseAll(): Promise<void> {
    for (const lease of [...this.#held.values()]) {
      try {
        await this.#grid.release(lease.id).catch(ignoreStale)
        lease.drop()
      } catch (error) {
        // It stays written down, for the next runner.
        this.#log(`A lease could not be released: ${(error as Error).message}`)
      }
    }
  }

  async #extend(id: string, lost: AbortController): Promise<void> {
    try {
      await this.#grid.extend(id, this.#seconds)
    } catch (error) {
      // Without an answer the lease may still live; the next call tells.
      if (isStale(error)) lost.abort()
    }
  }

  #save(): void {
    this.#state.saveLeases([...this.#held.keys()])
  }
}

/** The lease has ended. */
export function isStale(error: unknown): boolean {
  return error instanceof GridCallError && error.code === 'stale_lease'
}

function ignoreStale(error: unknown): undefined {
  if (!isStale(error)) throw error
}
