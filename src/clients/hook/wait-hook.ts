/**
 * `wait`: a process beside a session that wakes it when messages come. Claude Code runs it in the background
 * (`asyncRewake`), and exit code 2 wakes the session with the text on standard error. For Codex the start of a session
 * starts it, and it queues the text.
 */
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { MessageSummary } from '../grid-client.ts'
import type { ProcessMark } from '../state/process-mark.ts'
import { findSession, saveSession } from '../state/sessions.ts'
import { type HookAnswer, silence } from './answer.ts'
import { isCodexIdle, queueForCodex } from './codex.ts'
import type { HookCall } from './fast-hook.ts'
import { wakeBudget } from './throttle.ts'
import { claimWaiter, newMessages, type WaiterOptions } from './waiter.ts'
import { wakeWords } from './words.ts'

/** A session is told at its start, by a hook that runs beside this one, what is unread. It takes no longer. */
const startMs = 2_000

/** A hook whose client process is known. */
export type WaitCall = HookCall & { client: ProcessMark }

/** Wait for messages that a session has to be told of. Silent if its client ends, or has another waiter. */
export async function waitHook(call: WaitCall): Promise<HookAnswer> {
  const { connection, hook: { client }, input } = call
  const ending = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(name, () => ending.abort())
  const options = await waiterOptions(call, ending.signal)
  const lock = claimWaiter(options)
  if (!lock) return silence
  try {
    if (client === 'claude' && input.eventName === 'SessionStart') await startIsTold(call)
    const text = (messages: readonly MessageSummary[]) => wakeWords(client, connection.alias, messages)
    for await (const messages of newMessages(options)) {
      if (client === 'claude') return { stderr: text(messages), exitCode: 2 }
      await queueForCodex(connection, call.client, messages, text(messages))
    }
    return silence
  } finally {
    lock.release()
  }
}

async function waiterOptions(
  { connection, hook, client, grid }: WaitCall,
  signal: AbortSignal,
): Promise<WaiterOptions> {
  const session = { ...client, client: hook.client }
  const { since } = await saveSession(connection, { ...session, wakes: true })
  return {
    ...{ agent: connection, grid, client: hook.client, process: client, since, signal },
    session: () => findSession(connection, session)?.id ?? '',
    ...(hook.client === 'codex' && { isReady: () => isCodexIdle(connection, client) }),
    budget: wakeBudget(process.env),
  }
}

/** Resolves when the start hook of this session has told what it had to. */
async function startIsTold({ connection, hook, client, input }: WaitCall): Promise<void> {
  const until = performance.now() + startMs
  while (performance.now() < until) {
    if (findSession(connection, { ...client, client: hook.client })?.id === input.session) return
    await sleep(20)
  }
}
