/** The hooks that a client waits for: at the start of a session, at a prompt, after a tool, at the end of a turn. */
import { GridCallError, type GridClient, type MessageSummary } from '../grid-client.ts'
import { sessionLines } from '../primer.ts'
import { endSession, liveSessions, saveSession, type Session } from '../state/sessions.ts'
import type { ProcessMark } from '../state/process-mark.ts'
import { claimUntold } from '../state/told.ts'
import { contextAnswer, goOnAnswer, type HookAnswer, silence } from './answer.ts'
import type { HookInput, HookWords } from './call.ts'
import { startCodexWaiter } from './codex.ts'
import type { HookConnection } from './connection.ts'
import { takeNotice } from './notice.ts'
import { mayPeek } from './throttle.ts'
import { refusalWords } from './waiter.ts'
import { unreadWords, wakeWords } from './words.ts'

/** A hook that was called. */
export interface HookCall {
  hook: HookWords
  connection: HookConnection
  input: HookInput
  /** The process of the client; undefined if it is not known. */
  client: ProcessMark | undefined
  grid: GridClient
}

/** Answer a hook. Fails if the grid cannot be asked, which the client must not hear. */
export async function fastHook(call: HookCall): Promise<HookAnswer> {
  const { hook: { client, event }, connection, input } = call
  if (event === 'end') {
    // After /clear the process goes on with a new session.
    if (call.client && input.reason !== 'clear') endSession(connection, { client, pid: call.client.pid })
    return silence
  }
  if (event === 'start') return await startAnswer(call)
  await keepSession(call, { busy: event !== 'stop' })
  // A client that was kept from stopping once may stop now.
  if (event === 'stop' && input.isStopActive) return silence
  if (!await mayPeek(connection)) return silence
  const { messages } = await call.grid.peek()
  const untold = await untoldOf(call, messages)
  if (untold.length === 0) return silence
  const text = wakeWords(client, connection.alias, untold)
  return event === 'stop' ? goOnAnswer(client, text) : contextAnswer(client, event, input, text)
}

/** Who the session is, and what is unread. It says so at every start, also to a session of which others were told. */
async function startAnswer(call: HookCall): Promise<HookAnswer> {
  const { hook: { client, event }, input } = call
  try {
    const lines = [...await stateLines(call), ...otherSessions(call)]
    return lines.length === 0 ? silence : contextAnswer(client, event, input, lines.join('\n'))
  } finally {
    // The waiter of the session begins when it is kept.
    await keepSession(call, { busy: false })
    if (client === 'codex' && call.client && call.connection.wake === 'auto') {
      startCodexWaiter(call.hook, input, call.client)
    }
  }
}

async function stateLines({ connection, grid, input, hook }: HookCall): Promise<string[]> {
  const notice = takeNotice(connection)
  const notices = notice === undefined ? [] : [notice]
  if (!await mayPeek(connection, input.session)) return notices
  try {
    const { unread, messages } = await grid.peek()
    const untold = await untoldOf({ connection, hook, input }, messages)
    const lines = [sessionLines(connection.alias, unread), ...notices]
    return untold.length === 0 ? lines : [...lines, `${unreadWords(untold)}.`]
  } catch (error) {
    if (!(error instanceof GridCallError) || error.status !== 401) throw error
    return notice === undefined ? [refusalWords(connection, error)] : notices
  }
}

/** The client shows this session now. */
async function keepSession(
  { client: process, hook: { client }, connection, input }: HookCall,
  { busy }: Pick<Session, 'busy'>,
): Promise<void> {
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

async function untoldOf(
  { connection, hook, input }: Pick<HookCall, 'connection' | 'hook' | 'input'>,
  messages: MessageSummary[],
): Promise<MessageSummary[]> {
  const ids = messages.map(({ message_id }) => message_id)
  const untold = await claimUntold(connection, ids, { session: input.session, isStart: hook.event === 'start' })
  return messages.filter(({ message_id }) => untold.includes(message_id))
}
