/** Processes of this machine. Each is told from a later one with the same number by its start. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import process from 'node:process'
import { second } from '../../lib/time.ts'

export interface ProcessMark {
  pid: number
  /** When it started, in the words of the system; empty where the system does not say (Windows). */
  start: string
}

interface ProcessInfo extends ProcessMark {
  parent: number
  hasTerminal: boolean
  /** Its command line. */
  words: string[]
}

/** Clients start hooks through these. */
const shells = /^(?:-?(?:ba|da|z|fi|k)?sh|env|cmd(?:\.exe)?|pwsh|powershell(?:\.exe)?)$/

/** The mark of a process that runs now; undefined if there is none of that number. */
export function markOf(pid: number): ProcessMark | undefined {
  if (!isRunning(pid)) return undefined
  const start = startOf(pid)
  return start === undefined ? undefined : { pid, start }
}

export function ownMark(): ProcessMark {
  return { pid: process.pid, start: startOf(process.pid) ?? '' }
}

export function isAlive({ pid, start }: ProcessMark): boolean {
  return markOf(pid)?.start === start
}

/**
 * The process of the client that runs a hook: the one that Claude Code names, or else the nearest ancestor that is not a
 * shell. Undefined if it has ended.
 */
export function clientProcess(env: Record<string, string | undefined>): ProcessMark | undefined {
  const named = Number(env.CLAUDE_PID)
  if (named > 0) return markOf(named)
  let pid = process.ppid
  for (let i = 0; i < 5 && pid > 1; i++) {
    const info = infoOf(pid)
    if (info === undefined || !shells.test(basename(info.words[0] ?? ''))) break
    pid = info.parent
  }
  return pid > 1 ? markOf(pid) : undefined
}

/** The processes with a terminal, the newest last. Windows does not tell them. */
export function terminalProcesses(): ProcessInfo[] {
  const all = process.platform === 'linux'
    ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => linuxInfo(Number(name)) ?? [])
    : psInfos(['-ax'])
  const startedAt = ({ start }: ProcessInfo) => process.platform === 'linux' ? Number(start) : Date.parse(start)
  return all.filter(({ hasTerminal }) => hasTerminal).sort((a, b) => startedAt(a) - startedAt(b))
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

/** Waiters look every second, and another process does not get a number so soon. */
const askAgainMs = 20 * second
const asked = new Map<number, { start: string | undefined; at: number }>()

/** Undefined if the process has ended. */
function startOf(pid: number): string | undefined {
  if (process.platform === 'win32') return ''
  if (process.platform === 'linux') return linuxInfo(pid)?.start
  const known = asked.get(pid)
  if (known && Date.now() - known.at < askAgainMs) return known.start
  const start = infoOf(pid)?.start
  asked.set(pid, { start, at: Date.now() })
  return start
}

function infoOf(pid: number): ProcessInfo | undefined {
  return process.platform === 'linux' ? linuxInfo(pid) : psInfos(['-p', String(pid)])[0]
}

/**
 * Its start is in ticks since the machine started. A process whose exit code has not been read yet has ended.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function linuxInfo(pid: number): ProcessInfo | undefined {
  try {
    // The name of the program is in parentheses, and may contain some.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (/[ZX]/.test(fields[0])) return undefined
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
    return { pid, parent: Number(fields[1]), hasTerminal: fields[4] !== '0', start: fields[19], words }
  } catch {
    return undefined
  }
}

function psInfos(which: readonly string[]): ProcessInfo[] {
  if (process.platform === 'win32') return []
  const { stdout } = spawnSync('ps', [...which, '-o', 'pid=,ppid=,stat=,tty=,lstart=,args='], { encoding: 'utf8' })
  return (stdout ?? '').split('\n').flatMap((line) => {
    const found = line.match(/^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S+)\s+((?:\S+\s+){4}\S+)\s+(.*)$/)
    if (!found || found[3].startsWith('Z')) return []
    const [, pid, parent, , terminal, start, words] = found
    const hasTerminal = !/^\?+$/.test(terminal)
    return [{ pid: Number(pid), parent: Number(parent), hasTerminal, start, words: words.split(/\s+/) }]
  })
}
