/** Tells a process from a later one with the same number. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import process from 'node:process'

/** A process of this machine. */
export interface ProcessMark {
  pid: number
  /** When it started, in the words of the system; empty where the system does not say (Windows). */
  start: string
}

/** The mark of a process that runs now; undefined if there is none of that number. */
export function markOf(pid: number): ProcessMark | undefined {
  if (!isRunning(pid)) return undefined
  const start = startOf(pid)
  return start === undefined ? undefined : { pid, start }
}

/** The mark of this process. */
export function ownMark(): ProcessMark {
  return { pid: process.pid, start: startOf(process.pid) ?? '' }
}

/** Whether the process of a mark still runs. */
export function isAlive({ pid, start }: ProcessMark): boolean {
  return markOf(pid)?.start === start
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Undefined if the process has ended, also if nobody has read its exit code yet. */
function startOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    const { state, start } = linuxStat(pid) ?? {}
    return state === 'Z' || state === 'X' ? undefined : start
  }
  if (process.platform === 'win32') return ''
  const known = asked.get(pid)
  if (known && Date.now() - known.at < askAgainMs) return known.start
  const start = startOfPs(pid)
  asked.set(pid, { start, at: Date.now() })
  return start
}

/** Waiters look every second, and another process does not get a number so soon. */
const askAgainMs = 20_000
const asked = new Map<number, { start: string | undefined; at: number }>()

function startOfPs(pid: number): string | undefined {
  const { stdout, status } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
  const [, state, start] = stdout?.match(/^(\S+)\s+(.*\S)\s*$/m) ?? []
  return status !== 0 || state === undefined || state.startsWith('Z') ? undefined : start
}

/**
 * What Linux says of a process: its parent, whether it has a terminal, and its start in ticks since the machine started.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
export function linuxStat(
  pid: number,
): { state: string; parent: number; hasTerminal: boolean; start: string } | undefined {
  try {
    // The name of the program is in parentheses, and may contain some.
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], parent: Number(fields[1]), hasTerminal: fields[4] !== '0', start: fields[19] }
  } catch {
    return undefined
  }
}
