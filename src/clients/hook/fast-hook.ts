/** The hooks that a client waits for: at the start of a session, at a prompt, after a tool, at the end of a turn. */
import { isCredentialGone } from '../grid-call.ts'
import type { GridClient } from '../grid-client.ts'
import { sessionLines } from '../primer.ts'
import { claimUntold, endSession, liveSessions, mayPeek, saveSession } from '../state/sessions.ts'
import type { GridAgent } from '../state/paths.ts'
import type { ProcessMark } from '../state/lock.ts'
import {
  contextAnswer,
  type HookAnswer,
  type HookConnection,
  type HookInput,
  type HookWords,
  refusalWords,
  silence,
  stopAnswer,
  unreadWords,
  wakeWords,
} from './call.ts'
import { startCodexWaiter } from './codex.ts'

export interface HookCall {
  hook: HookWords
  connection: HookConnection
  input: HookInput
  client: ProcessMark | undefined
  grid: GridClient
}

/** Answer a hook. Fails if the grid cannot be asked, which the client must not hear. */
export async function fastHook(call: HookCall): Promise<HookAnswer> {
  const { hook: { client, event }, connection: agent, input, grid } = call
  if (event === 'end') {
    // After /clear the process goes on with a new session.
    if (call.client && input.reason !== 'clear') endSession(agent, { client, pid: call.client.pid })
    return silence
  }
  if (event === 'start') return await startAnswer(call)
  await keepSession(call, event !== 'stop')
  // A client that was kept from stopping once may stop now.
  if (event === 'stop' && input.isStopActive) return silence
  if (!await mayPeek(agent, false)) return silence
  const untold = await claimUntold(agent, (await grid.peek()).messages, { session: input.session })
  if (untold.length === 0) return silence
  const text = wakeWords(client, agent.alias, untold)
  return event === 'stop' ? stopAnswer(text) : contextAnswer(client, event, input, text)
}

/** Who the session is, and what is unread. It says so at every start, also to a session of which others were told. */
async function startAnswer(call: HookCall): Promise<HookAnswer> {
  const { hook: { client, event }, input, connection: agent, grid } = call
  try {
    const lines = [...await startLines(agent, grid, input.session), ...otherSessions(call)]
    return lines.length === 0 ? silence : contextAnswer(client, event, input, lines.join('\n'))
  } finally {
    // The waiter of the session begins when it is kept.
    await keepSession(call, false)
    if (client === 'codex' && call.client && agent.wake === 'auto') startCodexWaiter(call.hook, input, call.client)
  }
}

/** What a session is told when it begins: who it is, what is unread, and that the key does not work. */
export async function startLines(agent: GridAgent, grid: GridClient, session: string): Promise<string[]> {
  await mayPeek(agent, true)
  try {
    const { unread, messages } = await grid.peek()
    const untold = await claimUntold(agent, messages, { session, isStart: true })
    const news = untold.length === 0 ? [] : [`${unreadWords(untold)}.`]
    return [sessionLines(agent.alias, unread), ...news]
  } catch (error) {
    if (!isCredentialGone(error)) throw error
    return [refusalWords(agent, error)]
  }
}

async function keepSession({ client: process, hook: { client }, connection, input }: HookCall, busy: boolean) {
  if (process) await saveSession(connection, { ...process, client, id: input.session, busy })
}

function otherSessions({ connection: agent, client }: HookCall): string[] {
  const others = liveSessions(agent).filter(({ pid, wakes }) => wakes && pid !== client?.pid)
  if (others.length === 0 || agent.wake !== 'auto') return []
  const clients = [...new Set(others.map(({ client }) => client))].join(', ')
  return [
    `${agent.alias} is also open in another session on this machine (${clients}). New messages wake the newest session.`,
  ]
}
