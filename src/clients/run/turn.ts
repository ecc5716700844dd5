/** One turn: a child works on the messages of a lease. */
import process from 'node:process'
import type { InboxMessage } from '../grid-client.ts'
import { type Answer, answersIn, type InputFormat, inputOf, promptOf, UnclearOutput } from './dialogue.ts'
import type { HeldLease } from './held-lease.ts'
import { runGroup } from './process-group.ts'
import type { Program, TurnOutput } from './programs.ts'
import type { RunState } from './run-state.ts'
import type { Per } from './threads.ts'

export interface TurnOptions {
  /** With `@`. */
  agent: string
  program: Program
  /** Words that are added to the command line of the client. */
  extra: readonly string[]
  /** What a command gets; clients get a prompt. */
  format: InputFormat
  per: Per
  folder: string
  timeoutMs: number
  /** Between telling a child to end and killing it; 10 s by default. */
  graceMs?: number
  maxUsdPerTurn?: number
}

export interface Work {
  thread: string
  lease: HeldLease
  /** How many turns about them failed. */
  failures: number
}

/** The answers of a turn that went well, or why it failed. */
export type TurnResult = { answers: Answer[] } | { failure: string }

/**
 * Run the program once. A client whose session is gone gets a new one, and is told so once. `stopping` ends the child, and
 * so does the end of the lease.
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
  // A child that failed may have done its work.
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
    // Silences our hooks in the child.
    env: { ...process.env, AGENT_GRID_RUN: '1' },
    timeoutMs,
    graceMs,
    signal: AbortSignal.any([lease.lost, stopping]),
  })
  const turn = program.read(stdout)
  state.addCost(turn.usd ?? 0)
  if (ended === 'timeout') return { failure: `It was ended after ${timeoutMs / 1_000} s.` }
  if (ended === 'output') return { failure: 'It wrote more than a runner reads.' }
  if (ended === 'stopped') return { failure: 'It was stopped.' }
  if (code !== 0) {
    if (sessionId !== undefined && program.isSessionGone(stderr + stdout)) return { isSessionGone: true }
    return { failure: `It ended with ${code === null ? 'a signal' : `exit code ${code}`}.${hint(turn, stderr)}` }
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

/** The last words of a child, for the log of the runner: the sender is not told them. */
function hint({ failure }: TurnOutput, stderr: string): string {
  const last = failure || stderr.trim().split('\n').at(-1)
  return last ? ` It said: ${last.slice(0, 300)}` : ''
}
