/**
 * Tells the processes of a remote database who is at an agent. Each second what changed here is stored, and what others
 * stored is read. So a send and a read cost no statement. A local file has one process, which stores nothing.
 *
 * See docs/delivery.md, "Presence".
 */
import type { Deps } from '../deps.ts'
import { isSame, nobody, Presences, type PresentAgent, type Seen } from '../lib/presence.ts'
import { second } from '../lib/time.ts'
import type { preparePresence, StoredPresence } from './account/presence.ts'
import type { Statement } from './driver/binding.ts'
import { type GlobalPresence, maxPolledPresence } from './global/presence.ts'

interface PresenceOptions {
  tablesOf(accountId: string): { change: { presence: ReturnType<ReturnType<typeof preparePresence>['changes']> } }
  global: { readonly presence: GlobalPresence }
  writeLater(statements: Statement[]): void
  deps: Pick<Deps, 'log' | 'now'>
  /** The id of this process, as in `instances`. */
  instanceId: string
  /** No other process uses the database. */
  isAlone: boolean
  /** Runs `exchange` in a second. */
  exchange: { schedule(): void }
}

/** How many rows one statement stores. */
const maxStored = 500
/** How far a poll looks back: units may be committed in another order than their statements read the time. */
const lookBackMs = 2 * second

export class PresenceExchange {
  /** What is exchanged. */
  readonly presences: Presences
  readonly #options: PresenceOptions
  /** By agent, what was stored last, unless it was nobody. */
  readonly #stored = new Map<string, PresentAgent & { seen: Seen }>()
  readonly #changed = new Map<string, PresentAgent>()
  #isClosed = false
  /** By the clock of the database. */
  #polled = 0

  constructor(options: PresenceOptions) {
    this.#options = options
    this.presences = new Presences(options.deps.now, (agent) => this.#hasChanged(agent))
  }

  /** Store what has changed here, and read what has changed elsewhere. Returns that no other exchange must follow. */
  async exchange(): Promise<false> {
    this.#store()
    await this.load()
    return false
  }

  /** Read what other processes have stored since the last time. It never fails. */
  async load(): Promise<void> {
    if (this.#options.isAlone) return
    try {
      while (await this.#poll());
    } catch (error) {
      this.#options.deps.log.warn('The presence of agents at other processes could not be read', { error })
    }
  }

  /** Nobody is at an agent through this process any more. */
  close(): void {
    this.#isClosed = true
    for (const [key, agent] of this.#stored) this.#changed.set(key, agent)
    this.#store()
  }

  #hasChanged(agent: PresentAgent): void {
    if (this.#options.isAlone) return
    this.#changed.set(keyOf(agent), agent)
    this.#options.exchange.schedule()
  }

  #store(): void {
    const { tablesOf, writeLater, instanceId } = this.#options
    const byAccount = new Map<string, StoredPresence[]>()
    for (const [key, agent] of this.#changed) {
      const seen = this.#isClosed ? nobody : this.presences.here(agent)
      // Most waits end and begin again within a second.
      if (isSame(seen, this.#stored.get(key)?.seen ?? nobody)) continue
      if (isSame(seen, nobody)) this.#stored.delete(key)
      else this.#stored.set(key, { ...agent, seen })
      const rows = byAccount.get(agent.account) ?? []
      byAccount.set(agent.account, rows)
      rows.push({ agentId: agent.agentId, ...seen })
    }
    this.#changed.clear()
    for (const [accountId, rows] of byAccount) {
      for (let at = 0; at < rows.length; at += maxStored) {
        writeLater([tablesOf(accountId).change.presence.store(instanceId, rows.slice(at, at + maxStored))])
      }
    }
  }

  /** Returns whether there is more. */
  async #poll(): Promise<boolean> {
    const { global, instanceId } = this.#options
    const rows = await global.presence.after(this.#polled)
    for (const row of rows) {
      const { accountId, agentId, holder, attended, runner, isWaiting, leasedUntil } = row
      const [agent, seen] = [{ account: accountId, agentId }, { attended, runner, isWaiting, leasedUntil }]
      if (holder !== instanceId) this.presences.isSeen(agent, holder, seen)
      else this.#isStored(agent, seen)
    }
    const newest = rows.at(-1)?.changedAt
    if (newest === undefined) return false
    const isFull = rows.length === maxPolledPresence && newest > this.#polled
    this.#polled = isFull ? newest : Math.max(this.#polled, newest - lookBackMs)
    return isFull
  }

  /** A process that took this one for dead stores that nobody is there. */
  #isStored(agent: PresentAgent, seen: Seen): void {
    if (isSame(seen, nobody) && this.#stored.delete(keyOf(agent))) this.#hasChanged(agent)
  }
}

function keyOf({ account, agentId }: PresentAgent): string {
  return `${account} ${agentId}`
}
