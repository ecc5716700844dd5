/** A message's progress at remote agents. See docs/protocol/remote-agents.md, "How messages are sent". */
import type { AccountStore } from '../../store/account.ts'
import type { RemoteProgress } from '../../store/account/remote-agents.ts'

/** `at` is in milliseconds since the epoch, `attempt` counts from 1. The reason may quote the agent. */
export interface RemoteEvent {
  event: 'sent' | 'accepted' | 'working' | 'failed'
  at: number
  attempt?: number
  reason?: string
}

/** Returns a message's events at the account's remote agents, oldest first, by agent id. */
export async function remoteEvents(account: AccountStore, message: string): Promise<Map<string, RemoteEvent[]>> {
  const found = await account.read.remoteAgents.progress(message)
  return new Map(found.map((progress) => [progress.agentId, eventsOf(progress)]))
}

function eventsOf(
  { state, decidedAt, sends, sentAt, isRead, isNext, isSending, attempts, triedAt, error }: RemoteProgress,
): RemoteEvent[] {
  const why = error === null ? {} : { reason: error }
  if (state === null) {
    const attempt = (attempts ?? 0) + (isSending ?? 0)
    return isNext && attempt > 0 ? [{ event: 'sent', at: triedAt!, attempt, ...why }] : []
  }
  const events: RemoteEvent[] = [{ event: 'sent', at: sentAt, attempt: sends }]
  if (isRead) events.push({ event: 'accepted', at: decidedAt })
  if (state === 'working') events.push({ event: 'working', at: triedAt ?? decidedAt, ...why })
  if (state === 'ended' && error !== null) events.push({ event: 'failed', at: triedAt ?? decidedAt, reason: error })
  return events
}
