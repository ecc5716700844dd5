/** How often hooks look into an inbox, and how often waiters wake a session. */
import { join } from 'node:path'
import { readJson, writeJson } from '../state/json-file.ts'
import { withLock } from '../state/lock.ts'
import { type GridAgent, stateFolder } from '../state/paths.ts'

const second = 1_000
/** Hooks of one agent look once in this time, whatever happens in its sessions. */
const peekEveryMs = 15 * second
/** Hooks that run at the same time wait so long for each other. */
const waitMs = 300

/**
 * Whether a hook may look into the inbox now; if so, it counts. The start of a session always may, once: `starting` is
 * its id.
 */
export async function mayPeek(agent: GridAgent, starting?: string): Promise<boolean> {
  const path = join(stateFolder(agent), 'peeks.json')
  const allowed = await withLock(`${path}.lock`, waitMs, () => {
    const now = Date.now()
    const { at, starts } = readPeeks(path)
    const isNewStart = starting !== undefined && !starts.includes(starting)
    if (!isNewStart && now - at < peekEveryMs && at <= now) return false
    writeJson(path, { at: now, starts: isNewStart ? [...starts, starting].slice(-20) : starts })
    return true
  })
  return allowed ?? false
}

function readPeeks(path: string): { at: number; starts: string[] } {
  const { at, starts } = (readJson(path) ?? {}) as { at?: unknown; starts?: unknown }
  return { at: typeof at === 'number' ? at : 0, starts: Array.isArray(starts) ? starts : [] }
}

/** How often an agent may be woken. */
export interface WakeBudget {
  perMinute: number
  perHour: number
}

/** 3 a minute and 20 an hour, unless AGENT_GRID_WAKES_PER_MINUTE and AGENT_GRID_WAKES_PER_HOUR say otherwise. */
export function wakeBudget(env: Record<string, string | undefined>): WakeBudget {
  const number = (text: string | undefined, fallback: number) => Number(text) > 0 ? Number(text) : fallback
  return {
    perMinute: number(env.AGENT_GRID_WAKES_PER_MINUTE, 3),
    perHour: number(env.AGENT_GRID_WAKES_PER_HOUR, 20),
  }
}

/** The wakes of an agent in the last hour. Only the process that holds the waiter's lock changes them. */
export class WakeLog {
  readonly #path: string
  readonly #budget: WakeBudget

  constructor(agent: GridAgent, budget: WakeBudget) {
    this.#path = join(stateFolder(agent), 'wakes.json')
    this.#budget = budget
  }

  /** For how long, in ms, no session may be woken; 0 if one may be now. */
  pause(): number {
    const now = Date.now()
    const times = this.#times(now)
    const until = (count: number, withinMs: number) => {
      const recent = times.filter((at) => at > now - withinMs)
      return recent.length < count ? 0 : recent[recent.length - count] + withinMs - now
    }
    return Math.max(until(this.#budget.perMinute, 60 * second), until(this.#budget.perHour, 3_600 * second))
  }

  /** A session is woken now. */
  count(): void {
    const now = Date.now()
    writeJson(this.#path, [...this.#times(now), now])
  }

  #times(now: number): number[] {
    const times = readJson(this.#path)
    return Array.isArray(times) ? times.filter((at) => at > now - 3_600 * second && at <= now) : []
  }
}
