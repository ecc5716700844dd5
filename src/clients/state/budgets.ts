/** How often hooks look into an inbox, and how often waiters wake a session. */
import { join } from 'node:path'
import process from 'node:process'
import { hour, minute, second } from '../../lib/time.ts'
import { readJson, writeJson } from './json-file.ts'
import { withLock } from './lock.ts'
import { type GridAgent, stateFolder } from './paths.ts'

/** Hooks of one agent look once in this time, whatever happens in its sessions. */
const peekEveryMs = 15 * second
/** Hooks that run at the same time wait so long for each other. */
const waitMs = 300

/** Whether a hook may look into the inbox now; if so, it counts. The start of a session always may. */
export async function mayPeek(agent: GridAgent, isStart: boolean): Promise<boolean> {
  const path = join(stateFolder(agent), 'peeks.json')
  const allowed = await withLock(`${path}.lock`, waitMs, () => {
    const now = Date.now()
    const at = Number(readJson(path))
    if (!isStart && now - at < peekEveryMs && at <= now) return false
    writeJson(path, now)
    return true
  })
  return allowed ?? isStart
}

/** For how long, in ms, no session may be woken: 3 times a minute and 20 times an hour; 0 if one may be now. */
export function wakePause(agent: GridAgent): number {
  const { AGENT_GRID_WAKES_PER_MINUTE: perMinute, AGENT_GRID_WAKES_PER_HOUR: perHour } = process.env
  const now = Date.now()
  const times = wakesOf(agent, now)
  return Math.max(
    budgetPause(times, countOf(perMinute, 3), minute, now),
    budgetPause(times, countOf(perHour, 20), hour, now),
  )
}

/** A session is woken now. Only the process with the lock of the waiter calls it. */
export function countWake(agent: GridAgent): void {
  const now = Date.now()
  writeJson(wakesPath(agent), [...wakesOf(agent, now), now])
}

/** For how long, in ms, something may not happen again that may `count` times within `withinMs`; 0 if it may now. */
export function budgetPause(times: readonly number[], count: number, withinMs: number, now: number): number {
  const recent = times.filter((at) => at > now - withinMs)
  return recent.length < count ? 0 : recent[recent.length - count] + withinMs - now
}

function wakesOf(agent: GridAgent, now: number): number[] {
  const times = readJson(wakesPath(agent))
  return Array.isArray(times) ? times.filter((at) => at > now - hour && at <= now) : []
}

function wakesPath(agent: GridAgent): string {
  return join(stateFolder(agent), 'wakes.json')
}

function countOf(text: string | undefined, fallback: number): number {
  return Number(text) > 0 ? Number(text) : fallback
}
