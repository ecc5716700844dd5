/**
 * Live updates for the open pages of this process: new messages in conversations, message states, and agents' presence.
 * One query serves all open pages.
 */
import type { Deps } from '../deps.ts'
import type { Presence, Presences } from '../presence.ts'
import { minute, second } from '../lib/time.ts'
import type { LivePlace, LivePlaces } from './global/conversations.ts'
import type { Pulse } from './global/pulse.ts'
import { type LiveReads, ThreadStates } from './live-states.ts'
import type { Batch, Loop, ProcessFollower } from './loop.ts'

export type { LivePlace }

/** How often message states and agents are queried. */
const statesMs = 250
const presenceMs = second
/** Maximum share of time spent on queries of states and agents. If these queries take long, they run less often. */
const statesShare = 0.2
const presenceShare = 0.05
/** The poll interval of the database while pages are open. */
const pollMs = 200
/** Maximum number of new messages between two polls that pages receive one by one. */
const maxPlaces = 1_000
const maxAgents = 200
/** How long an agent counts as active after it was last seen. */
const activeMs = 5 * minute

/** The state of an agent's client in any process. Without a client, the last-seen time decides. */
type LivePresence = Presence['state'] | 'active' | 'away' | 'never seen'

interface LiveAgent {
  agentId: string
  state: LivePresence
  /** The number of the agent's unread messages, where 100 stands for 100 or more. */
  queue: number
}

/** An account's updates for a page. `lost`: there were too many updates, so the page must reload. */
export type LiveNews =
  | { kind: 'place'; place: LivePlace }
  | { kind: 'states'; places: LivePlace[] }
  | { kind: 'presence'; agents: LiveAgent[] }
  | { kind: 'lost' }

/** A page that listens to an account and to the message states of some threads. `notify` must not throw. */
interface Listener {
  accountId: string
  threads: readonly number[]
  notify(news: LiveNews): void
}

interface LiveFeedOptions {
  global: { readonly livePlaces: LivePlaces }
  tablesOf(accountId: string): { read: LiveReads }
  deps: Pick<Deps, 'log' | 'now'>
  presences: Presences
  loop: Loop
}

/** The log follower that updates open pages. While pages are open, it also polls states that are not in the log. */
export class LiveFeed implements ProcessFollower {
  readonly name = 'live pages'
  readonly pollMs = pollMs
  readonly limit = maxPlaces
  readonly looksAlways = true
  readonly #options: LiveFeedOptions
  readonly #listeners = new Set<Listener>()
  /** Listeners that join at the next poll. */
  readonly #joining = new Map<Listener, (position: number) => void>()
  readonly #states = new Map<string, ThreadStates>()
  /** The last sent presence, by account and agent. */
  readonly #presence = new Map<string, Map<string, string>>()
  /** Everything up to this position was sent. Undefined before the first poll. */
  #position: number | undefined
  #statesAt = -Infinity
  #presenceAt = -Infinity

  constructor(options: LiveFeedOptions) {
    this.#options = options
    options.loop.follow(this)
  }

  get position(): number {
    return this.#position ?? 0
  }

  /** Resolves to the listener's start position, and a function that removes the listener. */
  async join(listener: Listener): Promise<{ position: number; leave(): void }> {
    const position = await new Promise<number>((resolve) => {
      this.#joining.set(listener, resolve)
      this.#options.loop.wake()
    })
    return { position, leave: () => void this.#listeners.delete(listener) }
  }

  /** An account's messages after one position and up to another, oldest first. */
  places(accountId: string, after: number, upTo: number, limit: number): Promise<LivePlace[]> {
    return this.#options.global.livePlaces.after([accountId], after, upTo, limit)
  }

  close(): void {
    for (const joined of this.#joining.values()) joined(this.position)
    this.#joining.clear()
  }

  isActive(): boolean {
    return this.#listeners.size + this.#joining.size > 0
  }

  begin(): void {}

  /** A unit stores places together with the follower's position, so all places up to it are stored. */
  end(pulse: Pulse): number {
    return Math.max(0, pulse.positions.get('conversations') ?? 0)
  }

  next(_after: number, end: number): Promise<number> {
    return Promise.resolve(end)
  }

  async apply({ upTo }: Batch): Promise<void> {
    if (this.#listeners.size === 0) {
      this.#states.clear()
      this.#presence.clear()
      this.#position = upTo
    }
    this.#position ??= upTo
    const joining = [...this.#joining]
    for (const [listener] of joining) this.#listeners.add(listener)
    // Only changes of states and agents are sent, so the current states must be read first.
    if (joining.length > 0) {
      await this.#lookAtStates(false)
      const accounts = new Set(joining.map(([{ accountId }]) => accountId))
      await this.#lookAtPresence([...accounts].filter((id) => !this.#presence.has(id)))
    }
    for (const [listener, joined] of joining) {
      this.#joining.delete(listener)
      joined(this.#position)
    }
    const accounts = [...new Set([...this.#listeners].map(({ accountId }) => accountId))]
    for (const id of this.#presence.keys()) if (!accounts.includes(id)) this.#presence.delete(id)
    if (accounts.length === 0) return
    if (upTo > this.#position) await this.#lookAtPlaces(accounts, this.#position, upTo)
    const now = performance.now()
    if (now >= this.#statesAt) {
      await this.#lookAtStates(true)
      this.#statesAt = dueAfter(now, statesMs, statesShare)
    }
    const then = performance.now()
    if (then >= this.#presenceAt) {
      await this.#lookAtPresence(accounts)
      this.#presenceAt = dueAfter(then, presenceMs, presenceShare)
    }
  }

  async #lookAtPlaces(accounts: string[], position: number, upTo: number): Promise<void> {
    const { livePlaces } = this.#options.global
    const places = await livePlaces.after(accounts, position, upTo, maxPlaces)
    this.#position = upTo
    if (places.length === maxPlaces) {
      this.#states.clear()
      for (const { notify } of this.#listeners) notify({ kind: 'lost' })
      return
    }
    for (const place of places) {
      this.#states.get(keyOf(place.accountId, place.threadId))?.grows()
      this.#notify(place.accountId, { kind: 'place', place })
    }
  }

  /** Checks the open messages in watched threads. If `isNotified` is false, only reads unknown threads. */
  async #lookAtStates(isNotified: boolean): Promise<void> {
    const watched = new Map<string, Listener[]>()
    for (const listener of this.#listeners) {
      for (const thread of listener.threads) {
        const key = keyOf(listener.accountId, thread)
        watched.set(key, [...watched.get(key) ?? [], listener])
        if (this.#states.has(key)) continue
        const { read } = this.#options.tablesOf(listener.accountId)
        this.#states.set(key, new ThreadStates(read, listener.accountId, thread))
      }
    }
    for (const key of this.#states.keys()) if (!watched.has(key)) this.#states.delete(key)
    await Promise.all([...watched].map(async ([key, listeners]) => {
      const states = this.#states.get(key)!
      if (!isNotified && states.isKnown) return
      const places = await states.changed()
      if (places.length > 0) { for (const { notify } of listeners) notify({ kind: 'states', places }) }
    }))
  }

  async #lookAtPresence(accounts: string[]): Promise<void> {
    await Promise.all(accounts.map(async (accountId) => {
      const known = this.#presence.get(accountId)
      const told = new Map<string, string>()
      const found = await this.#options.tablesOf(accountId).read.overview.presence(maxAgents)
      const changed = found.flatMap(({ agentId, lastSeenAt, queue }): LiveAgent[] => {
        const presence = this.#options.presences.of(accountId).at(agentId)
        const state = presence?.state ?? this.#seen(lastSeenAt)
        const client = presence && 'client' in presence ? presence.client : ''
        told.set(agentId, `${state} ${client} ${queue}`)
        return known && known.get(agentId) !== told.get(agentId) ? [{ agentId, state, queue }] : []
      })
      this.#presence.set(accountId, told)
      if (changed.length > 0) this.#notify(accountId, { kind: 'presence', agents: changed })
    }))
  }

  #seen(lastSeenAt: number | null): LivePresence {
    if (lastSeenAt === null) return 'never seen'
    return this.#options.deps.now() - lastSeenAt < activeMs ? 'active' : 'away'
  }

  #notify(accountId: string, news: LiveNews): void {
    for (const listener of this.#listeners) if (listener.accountId === accountId) listener.notify(news)
  }
}

export class AccountLive {
  readonly #feed: LiveFeed
  readonly #accountId: string

  constructor(feed: LiveFeed, accountId: string) {
    this.#feed = feed
    this.#accountId = accountId
  }

  get position(): number {
    return this.#feed.position
  }

  /** See `LiveFeed`. `threads`: the threads whose message states are sent. */
  join(threads: readonly number[], notify: (news: LiveNews) => void) {
    return this.#feed.join({ accountId: this.#accountId, threads, notify })
  }

  places(after: number, upTo: number, limit: number): Promise<LivePlace[]> {
    return this.#feed.places(this.#accountId, after, upTo, limit)
  }
}

/** When to poll again after a poll that began at `from` and has just ended. */
function dueAfter(from: number, leastMs: number, share: number): number {
  return from + Math.max(leastMs, (performance.now() - from) / share)
}

function keyOf(accountId: string, threadId: number): string {
  return `${accountId} ${threadId}`
}
