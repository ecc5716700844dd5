/** Who is at an agent now: a session, a runner, or a waiting read. See docs/conversations.md, "Presence". */
import { day, hour, minute } from './lib/time.ts'

/** Who is at an agent. `client` is what the program calls itself, for example `claude`; empty if it does not say. */
export type Presence =
  | { state: 'attended' | 'runner'; client: string }
  | { state: 'waiting' }

/** Instead of a client, the server of a remote agent. Times are milliseconds since the epoch. */
export interface RemotePresence {
  state: 'remote'
  failingSince: number | null
  pausedAt: number | null
}

/** The last call of a tool by an agent. */
export interface ToolCallTime {
  account: string
  agent: string
  at: number
}

/** A lease that is neither extended nor ended counts as work for this long. */
const maxLeasedMs = 10 * minute
/** The last call of an agent is known to the minute, so one of this time ago may have been just now. */
const justNowMs = 2 * minute

export type AccountPresence = ReturnType<Presences['of']>

export class Presences {
  readonly #now: () => number
  /** By account and agent: the clients of this process that are at it, oldest first, and until when each counts. */
  readonly #here = new Map<string, Set<{ presence: Presence; until: number }>>()
  /** The functions that end what leases say. */
  readonly #leased = new Map<string, () => void>()
  /** By account and agent: the last call of a tool through this process since `takeCalls`. */
  readonly #calls = new Map<string, ToolCallTime>()
  /** By account and agent: who is at it through other processes. */
  #elsewhere = new Map<string, Presence[]>()

  constructor(now: () => number) {
    this.#now = now
  }

  of(account: string) {
    const keyOf = (agentId: string) => `${account} ${agentId}`
    return {
      /** Who is at an agent, in any process. A session counts more than a runner, and that more than a wait. */
      at: (agentId: string): Presence | undefined => {
        const key = keyOf(agentId)
        return foremost([...this.#elsewhere.get(key) ?? [], ...this.#at(key)])
      },
      /** A client is at an agent, until the returned function is called. */
      enter: (agentId: string, presence: Presence) => this.#enter(keyOf(agentId), presence),
      /** The agent calls a tool, and not only to wait. */
      calls: (agentId: string) => {
        this.#calls.set(keyOf(agentId), { account, agent: agentId, at: this.#now() })
      },
      /** Leased messages are worked on until then, but for at most 10 minutes unless this is said again. */
      leased: (agentId: string, until: number) => {
        const key = keyOf(agentId)
        this.#leased.get(key)?.()
        const worksUntil = Math.min(until, this.#now() + maxLeasedMs)
        this.#leased.set(key, this.#enter(key, { state: 'runner', client: '' }, worksUntil))
      },
      /** The leased messages were acknowledged or released. */
      leaseEnded: (agentId: string) => {
        const key = keyOf(agentId)
        this.#leased.get(key)?.()
        this.#leased.delete(key)
      },
    }
  }

  /** Who is at agents through this process, as JSON. */
  here(): string {
    const present = [...this.#here.keys()].map((key) => [key, foremost(this.#at(key))])
    return JSON.stringify(present.filter(([, presence]) => presence))
  }

  /** The agents that called tools through this process since this was asked last, each with its last call. */
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

/** The one that counts; of several clients the last that came. */
function foremost(all: Presence[]): Presence | undefined {
  return all.reduce<Presence | undefined>((one, next) => one && rankOf(one) > rankOf(next) ? one : next, undefined)
}

function rankOf(presence: Presence): number {
  if (presence.state === 'waiting') return 0
  if (presence.state === 'attended') return 3
  return presence.client === '' ? 1 : 2
}

/**
 * Who is at an agent: `attended`, `runner`, `waiting`, `remote`, or when it was last seen. `lastSeenAt` is null if it has
 * never made a call.
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

/** `presenceWord`, with the program if it said its name: `attended (claude)`. */
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
