/**
 * Waits for messages while a person attends a session. A client process has one waiter, and of the waiters of an agent
 * one listens to the grid: that of the newest session. The others stand by.
 *
 * See docs/clients.md, "What wakes a session".
 */
import { join } from 'node:path'
import { GridCallError, type GridClient, type MessageSummary } from '../grid-client.ts'
import { logLine } from '../log.ts'
import { type Lock, takeLock } from '../state/lock.ts'
import { type GridAgent, stateFolder } from '../state/paths.ts'
import { isAlive, type ProcessMark } from '../state/process-mark.ts'
import { liveSessions } from '../state/sessions.ts'
import { claimUntold } from '../state/told.ts'
import { leaveNotice } from './notice.ts'
import { type WakeBudget, WakeLog } from './throttle.ts'

const second = 1_000
/** A client that was killed is noticed so soon, and so is a newer session. */
const checkEveryMs = second
/** Messages that come in this time are told of together, but the first of them at once. */
const batchMs = 300
/** A session that cannot be told now is looked at again so soon. */
const readyMs = 50
/** A message that was told of and stays unread is told of once more. */
const againAfterMs = 15 * 60 * second
const reconnectMs = { shortest: second, longest: 60 * second }

export interface WaiterOptions {
  agent: GridAgent
  grid: GridClient
  /** The name of the client, which the grid shows as attending. */
  client: string
  /** The process of the client. The waiter ends with it. */
  process: ProcessMark
  /** When its session opened, in ms since 1970. */
  since: number
  /** The id of the session that the client shows now. */
  session(): string
  /** Whether the session can be told now. While it cannot, messages are left for later; by default it always can. */
  isReady?(): boolean
  budget: WakeBudget
  /** Ends the waiter. */
  signal: AbortSignal
}

/** Undefined if the client process has a waiter already. Call it before anything that uses the network. */
export function claimWaiter({ agent, client, process: { pid }, since }: WaiterOptions): Lock | undefined {
  return takeLock(join(stateFolder(agent), 'waiters', `${client}-${pid}.lock`), { client, since })
}

/** Messages that the session has to be told of now, again and again, until `signal` aborts or the client has ended. */
export async function* newMessages(options: WaiterOptions): AsyncGenerator<MessageSummary[]> {
  const { agent, signal } = options
  while (!signal.aborted && isAlive(options.process)) {
    const lock = isNewest(options) ? takeLock(join(stateFolder(agent), 'waiter.lock'), about(options)) : undefined
    if (!lock) {
      await pause(checkEveryMs, signal)
      continue
    }
    const turn = new AbortController()
    const end = () => turn.abort()
    signal.addEventListener('abort', end, { once: true })
    const check = setInterval(() => {
      if (!isAlive(options.process) || !isNewest(options) || !lock.isHeld()) end()
    }, checkEveryMs)
    try {
      const outcome = yield* listen({ ...options, signal: turn.signal })
      if (outcome === 'refused') return
    } finally {
      clearInterval(check)
      signal.removeEventListener('abort', end)
      turn.abort()
      lock.release()
    }
  }
}

/** Whether no session that can be woken opened after this one. */
function isNewest({ agent, process: { pid }, since }: WaiterOptions): boolean {
  return !liveSessions(agent).some((other) =>
    other.wakes && other.pid !== pid && (other.since > since || (other.since === since && other.pid > pid))
  )
}

function about({ client, since, process: { pid } }: WaiterOptions): Record<string, unknown> {
  return { client, since, clientPid: pid }
}

/** Listen until `signal` aborts, or the grid refuses the key. */
async function* listen(options: WaiterOptions): AsyncGenerator<MessageSummary[], 'ended' | 'refused'> {
  const { agent, signal, budget } = options
  const wakes = new WakeLog(agent, budget)
  const signals = new Signals(signal)
  const stream = keepStream(options, signals)
  let lookedAt = -Infinity
  while (await signals.next()) {
    await pause(lookedAt + batchMs - performance.now(), signal)
    if (signal.aborted) break
    const rest = wakes.pause()
    if (rest > 0 || options.isReady?.() === false) {
      signals.raiseIn(rest > 0 ? rest : readyMs)
      continue
    }
    lookedAt = performance.now()
    const untold = await look(options, signals)
    if (signal.aborted || untold.length === 0) continue
    wakes.count()
    yield untold
  }
  return await stream
}

/** The unread messages that the session has to be told of. They count as told. */
async function look(options: WaiterOptions, signals: Signals): Promise<MessageSummary[]> {
  const { agent, grid } = options
  try {
    const { messages } = await grid.peek({ limit: 50 })
    const session = options.session()
    const ids = messages.map(({ message_id }) => message_id)
    const untold = await claimUntold(agent, ids, { session, againAfterMs })
    return messages.filter(({ message_id }) => untold.includes(message_id))
  } catch (error) {
    logLine(agent, `${options.client}: ${error instanceof Error ? error.message : error}`)
    // A refused key ends the stream too.
    signals.raiseIn(retryAfterMs(error) ?? 5 * second)
    return []
  }
}

/** Keep a wake stream open. Each opening raises a signal too: what came before it was not signalled. */
async function keepStream(options: WaiterOptions, signals: Signals): Promise<'ended' | 'refused'> {
  const { agent, grid, client, signal } = options
  let failures = 0
  while (!signal.aborted) {
    let openedAt: number | undefined
    try {
      const opened = () => {
        openedAt = performance.now()
        signals.raise()
      }
      for await (const event of grid.wakeStream({ attended: client, signal }, opened)) {
        if (event === 'unread') signals.raise()
      }
    } catch (error) {
      if (signal.aborted) break
      logLine(agent, `${client}: ${error instanceof Error ? error.message : error}`)
      if (isRefusal(error)) {
        leaveNotice(agent, refusalWords(agent, error))
        signals.end()
        return 'refused'
      }
      await pause(retryAfterMs(error) ?? 0, signal)
    }
    const lasted = openedAt === undefined ? 0 : performance.now() - openedAt
    failures = lasted > 10 * second ? 0 : failures + 1
    const { shortest, longest } = reconnectMs
    await pause(Math.min(longest, shortest * 2 ** Math.max(0, failures - 1)) * (0.5 + Math.random() / 2), signal)
  }
  signals.end()
  return 'ended'
}

/** The key is revoked, or is none of an agent: waiting does not help. */
function isRefusal(error: unknown): error is GridCallError {
  return error instanceof GridCallError && (error.status === 401 || error.status === 403)
}

/** The sentence about a key that the grid does not accept. */
export function refusalWords({ url, alias }: GridAgent, { message }: GridCallError): string {
  const agent = alias.startsWith('@') ? alias : `@${alias}`
  return `The grid at ${url} does not accept the key of ${agent} on this machine (${message}), so nothing is told of ` +
    'new messages. The user can run "agent-grid connect" again.'
}

function retryAfterMs(error: unknown): number | undefined {
  const seconds = error instanceof GridCallError ? error.retryAfterSeconds : undefined
  return seconds === undefined ? undefined : seconds * second
}

/** Signals that are raised in one place and awaited in another. Several that nobody has awaited count as one. */
class Signals {
  #isRaised = false
  #isOver = false
  #notify = () => {}
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.end(), { once: true })
    if (signal.aborted) this.end()
  }

  raise(): void {
    this.#isRaised = true
    this.#notify()
  }

  /** Raise one later. A later call replaces an earlier one. */
  raiseIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.raise(), ms)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#isOver = true
    this.#notify()
  }

  /** Resolves to true when one was raised, to false at the end. */
  async next(): Promise<boolean> {
    while (!this.#isRaised && !this.#isOver) {
      await new Promise<void>((resolve) => this.#notify = resolve)
    }
    this.#isRaised = false
    return !this.#isOver
  }
}

/** Resolves after so many ms, or when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (!(ms > 0) || signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
