/** Streams that say when an agent has unread messages. They only signal: the messages are read with `readMessages`. */
import { type AgentActor, callingAgent } from '../../auth/actor.ts'
import { Signal } from '../../lib/notifier.ts'
import type { Presence } from '../../lib/presence.ts'
import { hasPassed, minute } from '../../lib/time.ts'
import type { AccountStore } from '../../store/account.ts'

/** Messages that are still unread after this long are announced again. */
const remindAfterMs = minute
/** The longest life of a stream. Its client then opens a new one. */
const maxAgeMs = 30 * minute

/** What a stream says: there are unread messages, or the stream is alive. */
export type InboxEvent = 'unread' | 'heartbeat'

export interface InboxWatch {
  /** How long the stream may be silent, in milliseconds. */
  heartbeatMs: number
  /** Fails when the credential has ended. Called before each event. */
  check(): Promise<unknown>
  /** Its signal is aborted when the listener disconnects. */
  connection: { readonly signal: AbortSignal }
  /** Who listens; a program that only waits, if it does not say. */
  presence?: Presence
}

/**
 * Tell the calling agent, for up to 30 minutes, that it has unread messages: at once, when more arrive, and again
 * while they stay unread. Ends when the process stops or the credential ends. Undefined when the credential has three
 * streams already, or the account or the process has reached its limit of streams.
 *
 * Fails with `wrong_credential`. See docs/protocol.md, "Wake stream".
 */
export function watchInbox(account: AccountStore, watch: InboxWatch): AsyncGenerator<InboxEvent> | undefined {
  const agent = callingAgent(account.actor)
  return account.waiting.streams.hasCapacity(agent.credentialId) ? events(account, agent, watch) : undefined
}

async function* events(
  account: AccountStore,
  { agentId, credentialId }: AgentActor,
  { heartbeatMs, check, connection, presence = { state: 'waiting' } }: InboxWatch,
): AsyncGenerator<InboxEvent> {
  const { change, deps: { now, log, stopping }, read: { inbox }, waiting } = account
  const { notifier, streams } = waiting
  // Acquired at the start: a generator that never starts would never release it.
  const releaseSlot = streams.acquire(credentialId)
  if (!releaseSlot) return
  const disconnected = connection.signal
  const openedAt = now()
  const signal = new Signal()
  const unsubscribe = notifier.subscribe(agentId, signal)
  const leave = waiting.presence.enter(agentId, presence)
  const raise = () => signal.raise()
  disconnected.addEventListener('abort', raise, { once: true })
  let timer: ReturnType<typeof setTimeout> | undefined
  let spokeAt = -Infinity
  let announced = { seq: 0, at: -Infinity }
  let wasWoken = false
  try {
    while (!disconnected.aborted && !stopping?.aborted && now() - openedAt < maxAgeMs) {
      const newest = await inbox.newestUnread(agentId)
      const isNews = newest > announced.seq || (newest > 0 && hasPassed(announced.at, remindAfterMs, now()))
      if (isNews || hasPassed(spokeAt, heartbeatMs, now())) {
        if (!await isStillValid(check)) return
        if (isNews) {
          if (newest > announced.seq) account.writeLater([change.leases.woken(agentId, announced.seq, newest, now())])
          announced = { seq: newest, at: now() }
        }
        spokeAt = now()
        yield isNews ? 'unread' : 'heartbeat'
        wasWoken = false
        // The listener may take any time to read this event, so look again before waiting.
        continue
      }
      // Woken without news: the agent may have been deleted or moved.
      if (wasWoken && !await isStillValid(check)) return
      timer = setTimeout(raise, heartbeatMs - (now() - spokeAt))
      await signal.raised()
      clearTimeout(timer)
      wasWoken = true
    }
  } catch (error) {
    log.warn('A stream ended because its inbox could not be read', { error })
  } finally {
    clearTimeout(timer)
    disconnected.removeEventListener('abort', raise)
    leave()
    unsubscribe()
    releaseSlot()
  }
}

/** Whether the credential has not ended. */
async function isStillValid(check: InboxWatch['check']): Promise<boolean> {
  return await check().then(() => true, () => false)
}
