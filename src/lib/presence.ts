/** Who is at an agent now: somebody's session, a runner, or a read that waits. See docs/delivery.md, "Presence". */
import { RecentMap } from './recent-map.ts'
import { day, hour, minute } from './time.ts'

/** Who is at an agent. `client` is what the program calls itself, for example `claude`; empty if it does not say. */
export type Presence =
  | { state: 'attended' | 'runner'; client: string }
  | { state: 'waiting' }

/** Who is at one agent through one process. */
export interface Seen {
  /** The client of a session, and that of a runner; null without one. */
  attended: string | null
  runner: string | null
  isWaiting: boolean
  /** Until when somebody works on leased messages, in milliseconds since the epoch; 0 if nobody does. */
  leasedUntil: number
}

/** An agent of an account, by their ids. */
export interface PresentAgent {
  account: string
  agentId: string
}

/** A lease that is neither extended nor ended says for this long that somebody works. */
const maxLeasedMs = 10 * minute
/** For how many agents it is remembered that somebody works on leased messages. */
const maxLeased = 20_000
/** The last call of an agent is known to the minute, so one of this time ago may have been just now. */
const justNowMs = 2 * minute

export const nobody: Seen = { attended: null, runner: null, isWaiting: false, leasedUntil: 0 }

/** The presence of all agents, in memory. */
export class Presences {
  readonly #now: () => number
  readonly #onChange: (agent: PresentAgent) => void
  /** By agent: who is at it through this process, in the order in which they came. */
  readonly #here = new Map<string, Set<Presence>>()
  readonly #leased = new RecentMap<string, number>(maxLeased)
  /** By agent and process. */
  readonly #elsewhere = new Map<string, Map<string, Seen>>()

  /** `onChange` is called when somebody comes or leaves through this process. */
  constructor(now: () => number, onChange: (agent: PresentAgent) => void) {
    this.#now = now
    this.#onChange = onChange
  }

  /** The agents of one account. */
  of(account: string): AccountPresence {
    return new AccountPresence(this, account)
  }

  /** Somebody is at an agent, until the returned function is called. */
  enter(agent: PresentAgent, presence: Presence): () => void {
    const key = keyOf(agent)
    const all = this.#here.get(key) ?? new Set()
    // An object of its own, because two may say the same.
    const entry = { ...presence }
    this.#here.set(key, all.add(entry))
    this.#onChange(agent)
    return () => {
      if (!all.delete(entry)) return
      if (all.size === 0 && this.#here.get(key) === all) this.#here.delete(key)
      this.#onChange(agent)
    }
  }

  /** Somebody works on leased messages until then, but for at most 10 minutes unless this is said again. */
  leased(agent: PresentAgent, until: number): void {
    this.#leased.set(keyOf(agent), Math.min(until, this.#now() + maxLeasedMs))
    this.#onChange(agent)
  }

  /** The leased messages of an agent were acknowledged or released. */
  leaseEnded(agent: PresentAgent): void {
    this.#leased.delete(keyOf(agent))
    this.#onChange(agent)
  }

  /** Who is at an agent, in any process. A session counts more than a runner, and that more than a wait. */
  at(agent: PresentAgent): Presence | undefined {
    const all = [this.here(agent), ...this.#elsewhere.get(keyOf(agent))?.values() ?? []]
    const attended = all.find((seen) => seen.attended !== null)?.attended
    if (attended != null) return { state: 'attended', client: attended }
    const runner = all.find((seen) => seen.runner !== null)?.runner
    if (runner != null) return { state: 'runner', client: runner }
    const now = this.#now()
    if (all.some(({ leasedUntil }) => leasedUntil > now)) return { state: 'runner', client: '' }
    return all.some(({ isWaiting }) => isWaiting) ? { state: 'waiting' } : undefined
  }

  /** Who is at an agent through this process. Of several clients the last that came is named. */
  here(agent: PresentAgent): Seen {
    const key = keyOf(agent)
    const seen = { ...nobody, leasedUntil: this.#leased.get(key) ?? 0 }
    for (const presence of this.#here.get(key) ?? []) {
      if (presence.state === 'waiting') seen.isWaiting = true
      else seen[presence.state] = presence.client
    }
    return seen
  }

  /** Who is at an agent through another process. */
  isSeen(agent: PresentAgent, process: string, seen: Seen): void {
    const key = keyOf(agent)
    const processes = this.#elsewhere.get(key) ?? new Map<string, Seen>()
    if (isSame(seen, nobody)) processes.delete(process)
    else processes.set(process, seen)
    if (processes.size > 0) this.#elsewhere.set(key, processes)
    else this.#elsewhere.delete(key)
  }
}

/** The presence of the agents of one account. */
export class AccountPresence {
  readonly #presences: Presences
  readonly #account: string

  constructor(presences: Presences, account: string) {
    this.#presences = presences
    this.#account = account
  }

  /** Who is at an agent, in any process; undefined if nobody is. See `Presences`. */
  at(agentId: string): Presence | undefined {
    return this.#presences.at({ account: this.#account, agentId })
  }

  /** Somebody is at an agent, until the returned function is called. */
  enter(agentId: string, presence: Presence): () => void {
    return this.#presences.enter({ account: this.#account, agentId }, presence)
  }

  /** Somebody works on leased messages until then, in milliseconds since the epoch. See `Presences`. */
  leased(agentId: string, until: number): void {
    this.#presences.leased({ account: this.#account, agentId }, until)
  }

  /** The leased messages were acknowledged or released. */
  leaseEnded(agentId: string): void {
    this.#presences.leaseEnded({ account: this.#account, agentId })
  }
}

/**
 * Who is at an agent: `attended`, `runner`, `waiting`, or when it was last seen. `lastSeenAt` is null if it has never
 * made a call.
 */
export function presenceWord(presence: Presence | undefined, lastSeenAt: number | null, now: number): string {
  if (presence) return presence.state
  if (lastSeenAt === null) return 'nobody yet'
  const passed = now - lastSeenAt
  return passed < justNowMs ? 'seen just now' : `nobody since ${spanOf(passed)}`
}

/** `presenceWord`, with the program if it said its name: `attended (claude)`. */
export function presenceWords(presence: Presence | undefined, lastSeenAt: number | null, now: number): string {
  const word = presenceWord(presence, lastSeenAt, now)
  return presence && 'client' in presence && presence.client !== '' ? `${word} (${presence.client})` : word
}

export function isSame(one: Seen, other: Seen): boolean {
  return one.attended === other.attended && one.runner === other.runner && one.isWaiting === other.isWaiting &&
    one.leasedUntil === other.leasedUntil
}

function spanOf(ms: number): string {
  if (ms < hour) return `${Math.floor(ms / minute)} min`
  return ms < 2 * day ? `${Math.floor(ms / hour)} h` : `${Math.floor(ms / day)} days`
}

function keyOf({ account, agentId }: PresentAgent): string {
  return `${account} ${agentId}`
}
