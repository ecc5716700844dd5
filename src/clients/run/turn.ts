/** One turn, in which a child process handles the messages of a lease. */
import process from 'node:process'
import { second } from '../../lib/time.ts'
import { GridCallError } from '../grid-call.ts'
import type { GridClient, InboxMessage, Lease, NextLease } from '../grid-client.ts'
import { type Answer, answersIn, type InputFormat, inputOf, promptOf, UnclearOutput } from './dialogue.ts'
import { runGroup } from './process-group.ts'
import type { Program, TurnOutput } from './programs.ts'
import type { RunState } from './run-state.ts'
import type { Per } from './threads.ts'

export interface TurnOptions {
  /** With `@`. */
  agent: string
  program: Program
  extra: readonly string[]
  /** The input format of a command. Coding clients get a prompt instead. */
  format: InputFormat
  per: Per
  folder: string
  timeoutMs: number
  /** Delay between asking a child to exit and killing it; 10 s by default. */
  graceMs?: number
  maxUsdPerTurn?: number
}

export interface Work {
  thread: string
  lease: HeldLease
  failures: number
}

export type TurnResult = { answers: Answer[] } | { failure: string }

/**
 * Runs the program once, or twice if the client's session no longer exists. The second prompt says that the session is
 * lost. `stopping` or the end of the lease terminates the child.
 */
export async function runTurn(
  options: TurnOptions,
  state: RunState,
  work: Work,
  stopping: AbortSignal,
): Promise<TurnResult> {
  const { thread } = work
  const known = state.session(thread, options.program.name)
  state.beginTurn()
  const first = await runOnce(options, state, work, stopping, { sessionId: known })
  if (!('isSessionGone' in first)) return first
  state.saveSession(thread, options.program.name, undefined)
  const second = await runOnce(options, state, work, stopping, { isForgotten: true })
  return 'isSessionGone' in second ? { failure: 'It found no session, although none was named.' } : second
}

async function runOnce(
  { agent, program, extra, format, per, folder, timeoutMs, graceMs, maxUsdPerTurn }: TurnOptions,
  state: RunState,
  { thread, lease, failures }: Work,
  stopping: AbortSignal,
  { sessionId, isForgotten }: { sessionId?: string; isForgotten?: boolean },
): Promise<TurnResult | { isSessionGone: true }> {
  // In a retry, the messages are marked as redelivered, because a failed child may still have done the work.
  const messages = failures === 0
    ? lease.messages
    : lease.messages.map((message) => ({ ...message, redelivered: true }))
  const input = program.name === 'command'
    ? inputOf(messages, { key: thread, per }, { agent }, format)
    : promptOf(messages, { agent, isForgotten })
  const { code, stdout, stderr, ended } = await runGroup({
    words: program.words({ sessionId, maxUsd: maxUsdPerTurn, extra }),
    input,
    folder,
    // Disables our hooks in the child.
    env: { ...process.env, AGENT_GRID_RUN: '1' },
    timeoutMs,
    graceMs,
    signal: AbortSignal.any([lease.lost, stopping]),
  })
  const turn = program.read(stdout)
  state.addCost(turn.usd ?? 0)
  if (ended === 'timeout') return { failure: `It was terminated after ${timeoutMs / 1_000} s.` }
  if (ended === 'output') return { failure: 'It wrote more than a runner can read.' }
  if (ended === 'stopped') return { failure: 'It was stopped.' }
  if (code !== 0) {
    if (sessionId !== undefined && program.isSessionGone(stderr + stdout)) return { isSessionGone: true }
    return { failure: `It exited with ${code === null ? 'a signal' : `exit code ${code}`}.${hint(turn, stderr)}` }
  }
  if (turn.failure !== undefined) return { failure: turn.failure }
  if (turn.sessionId !== undefined) state.saveSession(thread, program.name, turn.sessionId)
  return answersOf(turn.text, messages)
}

function answersOf(text: string, messages: InboxMessage[]): TurnResult {
  try {
    return { answers: answersIn(text, messages) }
  } catch (error) {
    if (error instanceof UnclearOutput) return { failure: error.message }
    throw error
  }
}

/** The failure or the last line of a child's error output, for the runner's log. The sender does not get it. */
function hint({ failure }: TurnOutput, stderr: string): string {
  const last = failure || stderr.trim().split('\n').at(-1)
  return last ? ` It said: ${last.slice(0, 300)}` : ''
}

/** A lease that is extended until it is released or dropped. */
export interface HeldLease {
  id: string
  messages: InboxMessage[]
  /** Aborts when the lease has ended unexpectedly. Its messages can then no longer be acknowledged. */
  lost: AbortSignal
  /** Stops the extension of a lease that was acknowledged, released or lost. */
  drop(): void
}

export class HeldLeases {
  readonly #grid: GridClient
  readonly #state: RunState
  readonly #seconds: number
  readonly #log: (message: string) => void
  readonly #held = new Map<string, HeldLease>()

  constructor(grid: GridClient, state: RunState, seconds: number, log: (message: string) => void) {
    this.#grid = grid
    this.#state = state
    this.#seconds = seconds
    this.#log = log
  }

  /** Releases the leases of a killed runner, so that their messages do not wait until the leases expire. */
  async releaseLeft(): Promise<void> {
    for (const id of this.#state.leases()) {
      await this.#grid.release(id).catch(ignoreStale)
    }
    this.#state.saveLeases([])
  }

  /** The request for a lease on messages. */
  requestFor(messageIds: string[]): NextLease {
    return { message_ids: messageIds, limit: messageIds.length, seconds: this.#seconds }
  }

  /** Extends a lease that the grid has created; undefined if it is empty because another reader has the messages. */
  hold({ lease_id: id, messages }: Lease): HeldLease | undefined {
    if (id === null) return undefined
    const lost = new AbortController()
    const timer = setInterval(() => void this.#extend(id, lost), this.#seconds * second / 3)
    const lease: HeldLease = {
      id,
      messages,
      lost: lost.signal,
      drop: () => {
        clearInterval(timer)
        this.#held.delete(id)
        this.#save()
      },
    }
    this.#held.set(id, lease)
    this.#save()
    return lease
  }

  async release({ id, drop }: HeldLease): Promise<void> {
    await this.#grid.release(id).catch(ignoreStale)
    drop()
  }

  async releaseAll(): Promise<void> {
    for (const lease of [...this.#held.values()]) {
      try {
        await this.release(lease)
      } catch (error) {
        // The lease stays recorded for the next runner to release.
        this.#log(`A lease could not be released: ${(error as Error).message}`)
      }
    }
  }

  async #extend(id: string, lost: AbortController): Promise<void> {
    try {
      await this.#grid.extend(id, this.#seconds)
    } catch (error) {
      // After any other error, the lease may still be valid. The next call reports whether it is.
      if (isStale(error)) lost.abort()
    }
  }

  #save(): void {
    this.#state.saveLeases([...this.#held.keys()])
  }
}

export function isStale(error: unknown): boolean {
  return error instanceof GridCallError && error.code === 'stale_lease'
}

function ignoreStale(error: unknown): undefined {
  if (!isStale(error)) throw error
}
