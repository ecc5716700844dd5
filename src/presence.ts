/**
 * Tracks the active clients of agents: a session, a runner, or a waiting read. See docs/conversations.md, "Presence".
 */
import { day, hour, minute } from './lib/time.ts'

/** A client that is active for an agent. `client` is its self-chosen name, such as `claude`, or empty. */
export type Presence =
  | { state: 'attended' | 'runner'; client: string }
  | { state: 'waiting' }

/** The presence of a remote agent, whose server takes the place of a client. Times are milliseconds since the epoch. */
export interface RemotePresence {
  state: 'remote'
  failingSince: number | null
  pausedAt: number | null
}

/** The time of an agent's last tool call. */
export interface ToolCallTime {
  account: string
  agent: string
  at: number
}

/** How long a lease counts as work unless it is extended or ended. */
const maxLeasedMs = 10 * minute
/** An agent's last call is stored with a precision of minutes, so up to this age it counts as just now. */
const justNowMs = 2 * minute

export type AccountPresence = ReturnType<Presences['of']>

export class Presences {
  readonly #now: () => number
  /** Clients connected through this process and their expiry times, by account and agent, oldest first. */
  readonly #here = new Map<string, Set<{ presence: Presence; until: number }>>()
  /** Functions that remove a lease's presence, by account and agent. */
  readonly #leased = new Map<string, () => void>()
  /** The last tool calls through this process since `takeCalls`, by account and agent. */
  readonly #calls = new Map<string, ToolCallTime>()
  /** Clients connected through other processes, by account and agent. */
  #elsewhere = new Map<string, Presence[]>()

  constructor(now: () => number) {
    this.#now = now
  }

  of(account: string) {
    const keyOf = (agentId: string) => `${account} ${agentId}`
    return {
      /** Returns an agent's most significant client. A session ranks above a runner, and a runner above a wait. */
      at: (agentId: string): Presence | undefined => {
        const key = keyOf(agentId)
        return foremost([...this.#elsewhere.get(key) ?? [], ...this.#at(key)])
      },
      /** Marks a client as active until the returned function is called. */
      enter: (agentId: string, presence: Presence) => this.#enter(keyOf(agentId), presence),
      /** Records that the agent called a tool that does more than wait. */
      calls: (agentId: string) => {
        this.#calls.set(keyOf(agentId), { account, agent: agentId, at: this.#now() })
      },
      /** Counts leased messages as work until the given time, but for at most 10 minutes per call. */
      leased: (agentId: string, until: number) => {
        const key = keyOf(agentId)
        this.#leased.get(key)?.()
        const worksUntil = Math.min(until, this.#now() + maxLeasedMs)
        this.#leased.set(key, this.#enter(key, { state: 'runner', client: '' }, worksUntil))
      },
      /** Records that the leased messages were acknowledged or released. */
      leaseEnded: (agentId: string) => {
        const key = keyOf(agentId)
        this.#leased.get(key)?.()
        this.#leased.delete(key)
      },
    }
  }

  /** Returns the clients connected through this process, as JSON. */
  here(): string {
    const present = [...this.#here.keys()].map((key) => [key, foremost(this.#at(key))])
    return JSON.stringify(present.filter(([, presence]) => presence))
  }

  /** Returns and clears the last tool call of each agent through this process. */
  takeCalls(): ToolCallTime[] {
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    return calls
  }

  areElsewhere(told: string[]): void {
    this.#elsewhere = new Map()
    for (const [key, presence] of told.flatMap((text) => JSON.parse(text) as [string, Presence][])) {
      this.#elsewhere.set(key, [...this.#elsewhere.get(key) ?? [], presence])
    }
  }

  #enter(key: string, presence: Presence, until = Infinity): () => void {
    const all = this.#here.get(key) ?? new Set()
    const entry = { presence, until }
    this.#here.set(key, all.add(entry))
    return () => {
      all.delete(entry)
      if (all.size === 0 && this.#here.get(key) === all) this.#here.delete(key)
    }
  }

  #at(key: string): Presence[] {
    const now = this.#now()
    return [...this.#here.get(key) ?? []].flatMap(({ presence, until }) => until > now ? [presence] : [])
  }
}

/** Returns the most significant client. If several are equal, returns the most recent one. */
function foremost(all: Presence[]): Presence | undefined {
  return all.reduce<Presence | undefined>((one, next) => one && rankOf(one) > rankOf(next) ? one : next, undefined)
}

function rankOf(presence: Presence): number {
  if (presence.state === 'waiting') return 0
  if (presence.state === 'attended') return 3
  return presence.client === '' ? 1 : 2
}

/**
 * Describes an agent's presence: `attended`, `runner`, `waiting`, `remote`, or when it was last seen. `lastSeenAt` is
 * null if it has never made a call.
 */
export function presenceWord(
  presence: Presence | RemotePresence | undefined,
  lastSeenAt: number | null,
  now: number,
): string {
  if (presence?.state === 'remote') return remoteWord(presence, now)
  if (presence) return presence.state
  if (lastSeenAt === null) return 'nobody yet'
  const passed = now - lastSeenAt
  return passed < justNowMs ? 'seen just now' : `nobody since ${spanOf(passed)}`
}

/** Returns `presenceWord` with the client's name if it has one: `attended (claude)`. */
export function presenceWords(
  presence: Presence | RemotePresence | undefined,
  lastSeenAt: number | null,
  now: number,
): string {
  const word = presenceWord(presence, lastSeenAt, now)
  return presence && 'client' in presence && presence.client !== '' ? `${word} (${presence.client})` : word
}

function remoteWord({ failingSince, pausedAt }: RemotePresence, now: number): string {
  if (pausedAt !== null) return 'remote, paused'
  return failingSince === null ? 'remote' : `remote, failing for ${spanOf(now - failingSince)}`
}

function spanOf(ms: number): string {
  if (ms < hour) return `${Math.floor(ms / minute)} min`
  return ms < 2 * day ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / day)} days`
}
