/**
 * Waits for messages while a person attends a session. Each client process has one waiter. Only the waiter of the
 * agent's newest session listens to the grid; the others stand by.
 *
 * See docs/client-reference.md, "What wakes a session".
 */
import { join } from 'node:path'
import { minute, second } from '../../lib/time.ts'
import { isCredentialGone, pause, retryAfterMs } from '../grid-call.ts'
import type { GridClient, MessageSummary } from '../grid-client.ts'
import { type GridAgent, logLine, stateFolder } from '../state/paths.ts'
import { claimUnnotified, countWake, findSession, liveSessions, saveSession, wakePause } from '../state/sessions.ts'
import { isAlive, type Lock, type ProcessMark, takeLock } from '../state/lock.ts'
import { WakeSignals } from '../wake-signals.ts'

/** How often the waiter checks for a killed client or a newer session. */
const checkEveryMs = second
/** Messages that arrive within this time after a check of the inbox are announced together. */
const batchMs = 300
/** How often to check a session that does not accept notices at the moment. */
const readyMs = 50
/** An announced message that stays unread is announced once more after this time. */
const againAfterMs = 15 * minute

export interface WaiterOptions {
  agent: GridAgent
  grid: GridClient
  /** The client's name, which the grid shows as attending. */
  client: string
  /** The client's process. The waiter stops when this process ends. */
  process: ProcessMark
  /** The id of the session that the client currently shows; by default the id that its hooks recorded. */
  session?(): string
  /** Whether the session accepts a notice now. Until then, messages stay pending. By default it always accepts. */
  isReady?(): boolean
  /** Resolves when the waiter may check the inbox for the first time. */
  begin?(): Promise<void>
  signal: AbortSignal
}

interface Waiter extends WaiterOptions {
  /** When the client's session opened, in ms since 1970. */
  since: number
}

/**
 * Yields messages to announce to the session, until `signal` aborts or the client ends. Returns immediately, without a
 * grid call, if the client process already has a waiter.
 */
export async function* newMessages(options: WaiterOptions): AsyncGenerator<MessageSummary[]> {
  const { agent, client, process } = options
  const { since } = await saveSession(agent, { ...process, client, wakes: true })
  const own = takeLock(join(stateFolder(agent), 'waiters', `${client}-${process.pid}.lock`), { client, since })
  if (!own) return
  try {
    await options.begin?.()
    yield* takeTurns({ ...options, since })
  } finally {
    own.release()
  }
}

/** Listens while this is the newest session; otherwise stands by. */
async function* takeTurns(waiter: Waiter): AsyncGenerator<MessageSummary[]> {
  const { agent, client, since, process, signal } = waiter
  const about = { client, since, clientPid: process.pid }
  while (!signal.aborted && isAlive(process)) {
    const lock = isNewest(waiter) ? takeLock(join(stateFolder(agent), 'waiter.lock'), about) : undefined
    if (!lock) {
      await pause(checkEveryMs, signal)
      continue
    }
    const isOver = yield* listenWhile(lock, waiter)
    if (isOver) return
  }
}

/** Listens while this process holds the lock. Returns true if the grid refuses the key, so that waiting is useless. */
async function* listenWhile(lock: Lock, waiter: Waiter): AsyncGenerator<MessageSummary[], boolean> {
  const { agent, grid, client, process } = waiter
  const turn = new AbortController()
  const signal = AbortSignal.any([waiter.signal, turn.signal])
  const check = setInterval(() => {
    if (!isAlive(process) || !isNewest(waiter) || !lock.isOurs()) turn.abort()
  }, checkEveryMs)
  const log = (message: string) => logLine(agent, `${client}: ${message}`)
  const signals = new WakeSignals(grid, { attended: client, signal, log })
  const followed = signals.follow().then(() => false, (error) => {
    if (!isCredentialGone(error)) throw error
    log(error.message)
    return true
  })
  try {
    yield* listen({ ...waiter, signal }, signals)
    return await followed
  } finally {
    clearInterval(check)
    turn.abort()
    lock.release()
  }
}

async function* listen(waiter: Waiter, signals: WakeSignals): AsyncGenerator<MessageSummary[]> {
  const { agent, signal } = waiter
  let lookedAt = -Infinity
  while (await signals.next()) {
    await pause(lookedAt + batchMs - performance.now(), signal)
    if (signal.aborted) return
    const restMs = wakePause(agent)
    if (restMs > 0 || waiter.isReady?.() === false) {
      signals.raiseIn(restMs > 0 ? restMs : readyMs)
      continue
    }
    lookedAt = performance.now()
    const unnotified = await look(waiter, signals)
    if (signal.aborted || unnotified.length === 0) continue
    countWake(agent)
    yield unnotified
  }
}

/** Returns the unread messages to announce to the session, and records them as announced. */
async function look(waiter: Waiter, signals: WakeSignals): Promise<MessageSummary[]> {
  const { agent, grid, client, process } = waiter
  try {
    const { messages } = await grid.peek({ limit: 50 })
    const session = waiter.session?.() ?? findSession(agent, { ...process, client })?.id ?? ''
    return await claimUnnotified(agent, messages, { session, againAfterMs })
  } catch (error) {
    logLine(agent, `${client}: ${(error as Error).message}`)
    // Every error is retried. For a refused key this ends soon, because the key also ends the stream.
    signals.raiseIn(retryAfterMs(error) ?? 5 * second)
    return []
  }
}

/** Whether no other wakeable session opened later. */
function isNewest({ agent, process: { pid }, since }: Waiter): boolean {
  return !liveSessions(agent).some((other) =>
    other.wakes && other.pid !== pid && (other.since > since || (other.since === since && other.pid > pid))
  )
}
