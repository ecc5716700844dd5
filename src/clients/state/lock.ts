/** Locks between the client programs of one machine. A lock is a file that names the process holding it. */
import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import process from 'node:process'
import { second } from '../../lib/time.ts'

interface LockHolder extends ProcessMark {
  [about: string]: unknown
}

export interface Lock {
  /** Whether this process still holds the lock. The file may have been removed. */
  isOurs(): boolean
  /** Releases the lock. Does nothing if this process no longer holds it. */
  release(): void
}

/** Time limit for writing a lock after creating its file, and for taking over a dead process's lock. */
const writingMs = 5_000

/**
 * Takes the lock in the file at `path`; undefined if a living process holds it. Only one process takes over a dead
 * process's lock. `about` is stored in the file for other processes.
 */
export function takeLock(path: string, about: Record<string, unknown> = {}): Lock | undefined {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const text = JSON.stringify({ ...about, ...ownMark() })
  if (!create(path, text)) {
    if (!removeStale(path) || !create(path, text)) return undefined
  }
  const isOurs = () => read(path) === text
  return { isOurs, release: () => isOurs() && remove(path) }
}

export function lockHolder(path: string): LockHolder | undefined {
  const holder = parse(read(path))
  return holder && isAlive(holder) ? holder : undefined
}

/**
 * Runs `act` while holding the lock, and resolves to its result. Resolves to undefined if other processes held the lock
 * for `waitMs`.
 */
export async function withLock<T>(path: string, waitMs: number, act: () => T): Promise<T | undefined> {
  const until = performance.now() + waitMs
  for (;;) {
    const lock = takeLock(path)
    if (lock) {
      try {
        return act()
      } finally {
        lock.release()
      }
    }
    if (performance.now() > until) return undefined
    await new Promise((resolve) => setTimeout(resolve, 2 + Math.random() * 8))
  }
}

function create(path: string, text: string): boolean {
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    // Windows responds with EPERM while another process has the removed file open.
    if (['EEXIST', 'EPERM'].includes((error as NodeJS.ErrnoException).code!)) return false
    throw error
  }
  try {
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
  return true
}

/**
 * Removes a dead process's lock. Only one process does so at a time, because a second one could remove the first one's
 * new lock.
 */
function removeStale(path: string): boolean {
  if (!isStale(path)) return false
  const guard = `${path}.takeover`
  if (!create(guard, '')) {
    if (ageOf(guard) > writingMs) remove(guard)
    return false
  }
  try {
    if (!isStale(path)) return false
    remove(path)
    return true
  } finally {
    remove(guard)
  }
}

/** Whether a lock file's process has ended. An empty file is still being written, unless it is old. */
function isStale(path: string): boolean {
  const text = read(path)
  if (text === undefined) return false
  const holder = parse(text)
  return holder ? !isAlive(holder) : ageOf(path) > writingMs
}

function ageOf(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs
  } catch {
    return 0
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

function parse(text: string | undefined): LockHolder | undefined {
  try {
    const holder = JSON.parse(text ?? '')
    return typeof holder?.pid === 'number' && typeof holder.start === 'string' ? holder : undefined
  } catch {
    return undefined
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Another process has already removed the file.
  }
}

export interface ProcessMark {
  pid: number
  /** When the process started, as the system formats it; empty on Windows, which does not report it. */
  start: string
}

interface ProcessInfo extends ProcessMark {
  parent: number
  hasTerminal: boolean
  words: string[]
}

/** Shells and runtimes through which clients start hooks. */
const shells = /^(?:-?(?:ba|da|z|fi|k)?sh|env|cmd(?:\.exe)?|pwsh|powershell(?:\.exe)?)$/

/** The identity of a running process; undefined if no process has that id. */
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
 * The client process that runs a hook: the process that Claude Code names, otherwise the nearest ancestor that is not a
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

/** The processes with a terminal, newest last. Always empty on Windows. */
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
    // EPERM: the process belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** How long a process's start time is cached. Process ids are not reused that quickly. */
const askAgainMs = 20 * second
const asked = new Map<number, { start: string | undefined; at: number }>()

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
 * The start time is in ticks since boot. A zombie process counts as ended.
 *
 * @see https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function linuxInfo(pid: number): ProcessInfo | undefined {
  try {
    // The program's name is in parentheses, and may contain parentheses itself.
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
