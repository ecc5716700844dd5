/** The hooks that block the client: at session start, at a prompt, after a tool, and at the end of a turn. */
import process from 'node:process'
import { isCredentialGone } from '../grid-call.ts'
import type { GridClient } from '../grid-client.ts'
import { sessionLines } from '../primer.ts'
import { spaceOf } from '../repository.ts'
import { newerProgram } from './newer-program.ts'
import { claimUnnotified, endSession, liveSessions, mayPeek, saveSession } from '../state/sessions.ts'
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

/** Answers a hook. Fails if the grid is unreachable; the caller must not let that affect the client. */
export async function fastHook(call: HookCall): Promise<HookAnswer> {
  const { hook, hook: { client, event }, connection: agent, input, grid } = call
  if (event === 'end') {
    // After /clear, the process continues with a new session, so its record stays.
    if (call.client && input.reason !== 'clear') endSession(agent, { client, pid: call.client.pid })
    return silence
  }
  if (event === 'start') return await startAnswer(call)
  await keepSession(call, event !== 'stop')
  // A client that was prevented from stopping once may stop now.
  if (event === 'stop' && input.isStopActive) return silence
  if (!await mayPeek(agent, false)) return silence
  const { text, isRefusal } = await newsFor(hook, agent, grid, input.session)
  if (text === '') return silence
  if (isRefusal) return event === 'prompt' ? contextAnswer(client, event, input, text, text) : silence
  return event === 'stop' ? stopAnswer(text) : contextAnswer(client, event, input, text)
}

/** The answer at a session start: the agent and unread messages, including those announced to other sessions. */
async function startAnswer(call: HookCall): Promise<HookAnswer> {
  const { hook, hook: { client, event }, input, connection: agent, grid } = call
  try {
    const { lines, isRefusal } = await startLines(hook, agent, grid, input.session, input.cwd)
    const text = [...lines, ...otherSessions(call)].join('\n')
    return contextAnswer(client, event, input, text, isRefusal ? text : undefined)
  } finally {
    // The session is recorded last, because its waiter starts once the session is recorded.
    await keepSession(call, false)
    if (client === 'codex' && call.client && agent.wake === 'auto') startCodexWaiter(call.hook, input, call.client)
  }
}

/** The context at a session start: the agent and unread messages, or a note that the key does not work. */
export async function startLines(
  hook: Pick<HookWords, 'client' | 'isPlugin'>,
  agent: GridAgent,
  grid: GridClient,
  session: string,
  folder = process.cwd(),
): Promise<{ lines: string[]; isRefusal: boolean }> {
  await mayPeek(agent, true)
  try {
    const { unread, messages, grid: { version: served } = {} } = await grid.peek()
    const unnotified = await claimUnnotified(agent, messages, { session, isStart: true })
    const news = unnotified.length === 0 ? [] : [`${unreadWords(unnotified)}.`]
    const lines = [sessionLines(agent.alias, unread, spaceOf(folder)), ...news, ...newerProgram(hook, agent, served)]
    return { lines, isRefusal: false }
  } catch (error) {
    if (!isCredentialGone(error)) throw error
    await claimUnnotified(agent, [refusal], { session, isStart: true })
    return { lines: [refusalWords(hook.client, agent, error)], isRefusal: true }
  }
}

/** A refused key is announced once per session, like a message. */
const refusal = { message_id: 'refused key', user: '' }

/** The context for a running session: new messages, or a note that the key no longer works. */
export async function newsFor(
  hook: Pick<HookWords, 'client' | 'isPlugin'>,
  agent: GridAgent,
  grid: GridClient,
  session: string,
): Promise<{ text: string; isRefusal: boolean }> {
  try {
    const unnotified = await claimUnnotified(agent, (await grid.peek()).messages, { session })
    return { text: unnotified.length === 0 ? '' : wakeWords(hook, agent.alias, unnotified), isRefusal: false }
  } catch (error) {
    if (!isCredentialGone(error)) throw error
    const unnotified = await claimUnnotified(agent, [refusal], { session, isStart: true })
    return { text: unnotified.length === 0 ? '' : refusalWords(hook.client, agent, error), isRefusal: true }
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
