/**
 * Notifies a Codex session in a terminal. A daemon runs the hooks of several terminals, and outlives them, so the
 * terminal's process must be searched for. See docs/client-reference.md, "What wakes a session".
 */
import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync, readlinkSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import process from 'node:process'
import type { MessageSummary } from '../grid-client.ts'
import { isBinary } from '../../lib/version.ts'
import { type GridAgent, logLine } from '../state/paths.ts'
import { clientProcess, markOf, type ProcessMark, terminalProcesses } from '../state/lock.ts'
import { findSession, liveSessions } from '../state/sessions.ts'
import type { HookInput, HookWords } from './call.ts'

const programName = /^codex(?:-[\w-]+)?(?:\.exe)?$/
/** Codex commands without an interactive session. */
const otherCommands =
  /^(?:exec|e|review|login|logout|mcp|mcp-server|app-server|queue|apply|a|cloud|completion|debug|sandbox|features|plugin|update|doctor)$/

/** The environment variable that a detached waiter reads. */
const waiterVariable = 'AGENT_GRID_CODEX_SESSION'

interface WaiterSession {
  process: ProcessMark
  session: string
  cwd?: string
}

/**
 * The terminal process that shows a hook's session; undefined if there is none. For example, `codex exec` has no
 * terminal, and messages queued for it would be lost.
 */
export function codexTerminal(agent: GridAgent, { transcript, session, cwd }: HookInput): ProcessMark | undefined {
  if (originatorOf(transcript) !== 'codex-tui') return undefined
  // The folder is compared only on Linux, because other systems have no fast method to report a process's folder.
  const isHere = (pid: number) => process.platform !== 'linux' || folderOf(pid) === cwd
  const terminals = terminalProcesses().filter(({ pid, words }) => showsSession(words) && isHere(pid))
  // A terminal with its own configuration runs its hooks itself, not through the daemon.
  const parent = clientProcess(process.env)
  if (terminals.some(({ pid }) => pid === parent?.pid)) return parent
  const claimed = liveSessions(agent).filter(({ client }) => client === 'codex')
  const own = claimed.find(({ id }) => id === session)
  if (own) return markOf(own.pid)
  const free = terminals.filter(({ pid }) => !claimed.some((other) => other.pid === pid))
  // After `/new`, a terminal shows a session that is not recorded. If it is the only terminal, it is used anyway.
  const shown = free.at(-1) ?? (terminals.length === 1 ? terminals[0] : undefined)
  return shown && { pid: shown.pid, start: shown.start }
}

/** Whether `codex exec` created the session. Such a session ends by itself and has no terminal. */
export function isOneShot({ transcript }: HookInput): boolean {
  return originatorOf(transcript) === 'codex_exec'
}

/** The Codex program that created a session, such as `codex-tui`, according to the transcript's first line. */
function originatorOf(transcript: string | undefined): string | undefined {
  if (transcript === undefined) return undefined
  try {
    const file = openSync(transcript, 'r')
    try {
      const bytes = new Uint8Array(4_096)
      const text = new TextDecoder().decode(bytes.subarray(0, readSync(file, bytes)))
      return text.match(/"originator":"([\w-]+)"/)?.[1]
    } finally {
      closeSync(file)
    }
  } catch {
    return undefined
  }
}

function showsSession([program = '', ...words]: string[]): boolean {
  return programName.test(basename(program)) && !words.some((word) => otherCommands.test(word))
}

function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return undefined
  }
}

/** Starts a process that waits for messages until the terminal ends. */
export function startCodexWaiter(
  { as, url, isProject }: HookWords,
  { session, cwd }: HookInput,
  terminal: ProcessMark,
): void {
  const [program, ...first] = isBinary ? [process.execPath] : [process.execPath, process.argv[1]]
  const flags = isProject ? ['--project'] : []
  const options = [...flags, ...(as === undefined ? [] : ['--as', as]), ...(url === undefined ? [] : ['--url', url])]
  const told: WaiterSession = { process: terminal, session, cwd }
  const child = spawn(program, [...first, 'hook', 'codex', 'wait', ...options], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, [waiterVariable]: JSON.stringify(told) },
  })
  child.on('error', () => {})
  child.unref()
}

/** The session that this process waits for; undefined if this process is not a waiter. */
export function codexWaiterSession(): WaiterSession | undefined {
  const text = process.env[waiterVariable]
  return text === undefined ? undefined : JSON.parse(text)
}

/** A session counts as busy for at most this long. While busy, only its hooks announce messages, which is faster. */
const busyMs = 10 * 60_000

/** Whether the terminal's session accepts a notice. */
export function isCodexIdle(agent: GridAgent, terminal: ProcessMark): boolean {
  const session = findSession(agent, { ...terminal, client: 'codex' })
  // Codex does not report the end of an interrupted turn, so a session does not stay busy forever.
  return !session?.busy || Date.now() - session.at > busyMs
}

/** Queues a text for the session that a terminal shows. Tries at most twice. */
export async function queueForCodex(
  agent: GridAgent,
  terminal: ProcessMark,
  messages: readonly MessageSummary[],
  text: string,
): Promise<void> {
  const program = programOf(terminal)
  for (const isLast of [false, true]) {
    const thread = findSession(agent, { ...terminal, client: 'codex' })?.id
    if (!thread) return
    const { code, output } = await run(program, ['queue', '--thread', thread, '--message', text])
    if (code === 0) return
    logLine(agent, `codex queue ended with ${code} for ${messages.length} messages: ${output.slice(0, 500)}`)
    if (!isLast) await new Promise((resolve) => setTimeout(resolve, 5_000))
  }
}

/** The path of the Codex binary that the terminal runs. */
function programOf({ pid }: ProcessMark): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    return 'codex'
  }
}

function run(program: string, words: string[]): Promise<{ code: number | string | null; output: string }> {
  return new Promise((resolve) => {
    execFile(program, words, { timeout: 10_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? error.code ?? null : 0, output: stdout + stderr || (error?.message ?? '') })
    })
  })
}
