/**
 * `wait`: a background process that wakes a session when messages come. Claude Code runs it in the background
 * (`asyncRewake`), and exit code 2 wakes the session with the text on standard error. For Codex the start of a session
 * starts it, and it queues the text.
 */
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { second } from '../../lib/time.ts'
import type { ProcessMark } from '../state/processes.ts'
import { findSession } from '../state/sessions.ts'
import { type HookAnswer, silence } from './call.ts'
import { isCodexIdle, queueForCodex } from './codex.ts'
import type { HookCall } from './fast-hook.ts'
import { newMessages } from './waiter.ts'
import { wakeWords } from './words.ts'

/** A session is told at its start, by a hook that runs at the same time, what is unread. It takes no longer. */
const startMs = 2 * second

/** Wait for messages that a session has to be told of. Silent if its client ends, or has another waiter. */
export async function waitHook(call: HookCall & { client: ProcessMark }): Promise<HookAnswer> {
  const { connection: agent, hook, client: terminal, grid, input } = call
  const ending = new AbortController()
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(name, () => ending.abort())
  const about = { agent, grid, client: hook.client, process: terminal, signal: ending.signal }
  const isClaude = hook.client === 'claude'
  const messages = isClaude
    ? newMessages({ ...about, begin: () => input.eventName === 'SessionStart' ? startIsTold() : Promise.resolve() })
    : newMessages({ ...about, isReady: () => isCodexIdle(agent, terminal) })
  for await (const untold of messages) {
    const text = wakeWords(hook.client, agent.alias, untold)
    if (isClaude) return { stderr: text, exitCode: 2 }
    await queueForCodex(agent, terminal, untold, text)
  }
  return silence

  async function startIsTold(): Promise<void> {
    const until = performance.now() + startMs
    while (performance.now() < until) {
      if (findSession(agent, { ...terminal, client: hook.client })?.id === input.session) return
      await sleep(20)
    }
  }
}
