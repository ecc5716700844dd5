/** What people read of the messages of others is in the activity log. See docs/security.md, "Who reads messages". */
import { callingUser } from '../../auth/actor.ts'
import { GridError } from '../../errors.ts'
import { hour } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'
import { activityRow } from '../activity.ts'

/**
 * What is read: the thread of agents (aliases without `@`) or of a channel (name without `#`), a list with lines of
 * several threads, by its name, for example `all`, or the newest messages of an agent. No text of a message or search.
 */
export type Reading =
  | { thread: string; agents: readonly string[] }
  | { thread: string; channel: string }
  | { list: string }
  | { agent: string }

/** Most names of one row. */
const maxNamed = 8

/**
 * Record that the calling user reads messages of others, before they are shown: one row for each session, thread and
 * hour. Fails with `wrong_credential`, or with `unavailable` if the row cannot be written; then nothing may be shown.
 */
export async function recordReading(account: AccountStore, reading: Reading, requestId: string | null): Promise<void> {
  const { sessionId } = callingUser(account.actor)
  const at = account.deps.now()
  const { tool, ...named } = describe(reading)
  const row = { session: sessionId, tool, subject: named.subject, since: at - at % hour }
  if (await account.read.activity.hasReading(row)) return
  try {
    await account.record(
      activityRow(account.actor, { tool, arguments: named, requestId }, 'ok', at),
      [account.change.activity.requireNoReading(row)],
    )
  } catch (error) {
    // Another request of the session was faster.
    const isThere = error instanceof GridError && error.code === 'write_conflict' &&
      await account.read.activity.hasReading(row)
    if (!isThere) throw error
  }
}

function describe(reading: Reading) {
  if ('list' in reading) return { tool: 'read_conversations', subject: reading.list }
  if ('agent' in reading) {
    return { tool: 'read_agent', subject: reading.agent, agent: reading.agent }
  }
  const subject = reading.thread
  return 'channel' in reading
    ? { tool: 'read_channel', subject, channel: reading.channel }
    : { tool: 'read_conversation', subject, agents: reading.agents.slice(0, maxNamed) }
}
