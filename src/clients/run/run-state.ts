/** A runner's state on disk, so that a new runner can resume after the old one was killed. */
import { join } from 'node:path'
import { day, hasPassed, hour } from '../../lib/time.ts'
import { budgetPause, readJson, writeJson } from '../state/sessions.ts'
import { type GridAgent, stateFolder } from '../state/paths.ts'

interface KeptSession {
  thread: string
  program: string
  id: string
  at: number
}

interface KeptTurn {
  at: number
  usd: number
}

const keptSessions = 1_000
const sessionAgeMs = 30 * day

export function runnerLock(agent: GridAgent): string {
  return join(folderOf(agent), 'runner.lock')
}

/** The state files of one agent's runner. Only the process with the runner's lock uses them. */
export class RunState {
  readonly #folder: string
  readonly #now: () => number

  constructor(agent: GridAgent, now: () => number) {
    this.#folder = folderOf(agent)
    this.#now = now
  }

  leases(): string[] {
    return listIn<string>(this.#path('leases')).filter((id) => typeof id === 'string')
  }

  saveLeases(ids: readonly string[]): void {
    writeJson(this.#path('leases'), ids)
  }

  /** The program's session for a thread; undefined if the thread had none in the last 30 days. */
  session(thread: string, program: string): string | undefined {
    return this.#sessions().find((kept) => kept.thread === thread && kept.program === program)?.id
  }

  saveSession(thread: string, program: string, id: string | undefined): void {
    const others = this.#sessions().filter((kept) => kept.thread !== thread || kept.program !== program)
    const own = id === undefined ? [] : [{ thread, program, id, at: this.#now() }]
    writeJson(this.#path('sessions'), [...others, ...own].slice(-keptSessions))
  }

  /** The turns of the last 24 hours, oldest first. */
  turns(): KeptTurn[] {
    return listIn<KeptTurn>(this.#path('turns')).filter(({ at }) => !hasPassed(at, day, this.#now()))
  }

  /** Records a turn before it begins, so that killed turns count too. */
  beginTurn(): void {
    writeJson(this.#path('turns'), [...this.turns(), { at: this.#now(), usd: 0 }])
  }

  addCost(usd: number): void {
    const turns = this.turns()
    const last = turns.at(-1)
    if (last && usd > 0) writeJson(this.#path('turns'), [...turns.slice(0, -1), { ...last, usd: last.usd + usd }])
  }

  #sessions(): KeptSession[] {
    return listIn<KeptSession>(this.#path('sessions')).filter(({ at }) => !hasPassed(at, sessionAgeMs, this.#now()))
  }

  #path(name: string): string {
    return join(this.#folder, `${name}.json`)
  }
}

export interface TurnBudget {
  perHour: number
  /** In USD, for clients that report a turn's cost. */
  perDayUsd?: number
}

/** How long to wait before the next turn, in ms, and why; 0 if it may begin. */
export function waitForTurn(turns: readonly KeptTurn[], { perHour, perDayUsd }: TurnBudget, now: number): {
  ms: number
  why?: string
} {
  const ms = budgetPause(turns.map(({ at }) => at), perHour, hour, now)
  if (ms > 0) return { ms, why: `${perHour} turns within an hour` }
  if (perDayUsd === undefined) return { ms: 0 }
  let usd = turns.reduce((sum, turn) => sum + turn.usd, 0)
  if (usd < perDayUsd) return { ms: 0 }
  // Removes the oldest turns from the window until the budget allows another turn.
  const until = turns.find((turn) => (usd -= turn.usd) < perDayUsd)!
  return { ms: until.at + day - now, why: `$${perDayUsd} within a day` }
}

function folderOf(agent: GridAgent): string {
  return join(stateFolder(agent), 'run')
}

function listIn<T>(path: string): T[] {
  const list = readJson(path)
  return Array.isArray(list) ? list : []
}
